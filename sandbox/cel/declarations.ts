/** What the expressions of match conditions can name: the server's variables, their types, its functions. */
import { Environment } from "@marcbachmann/cel-js";
import { compileGoRegexp, type GoRegexp, jsonEqual } from "../../kube/core/index.ts";

const kindType = "kubernetes.GroupVersionKind";
const resourceType = "kubernetes.GroupVersionResource";
const userType = "kubernetes.UserInfo";
const requestType = "kubernetes.AdmissionRequest";

/** Fields of the request's types; objects under admission have none (`dyn`). */
const schemas: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [kindType]: { group: "string", version: "string", kind: "string" },
  [resourceType]: { group: "string", version: "string", resource: "string" },
  [userType]: {
    username: "string",
    uid: "string",
    groups: "list<string>",
    extra: "map<string, list<string>>",
  },
  [requestType]: {
    kind: kindType,
    resource: resourceType,
    subResource: "string",
    requestKind: kindType,
    requestResource: resourceType,
    requestSubResource: "string",
    name: "string",
    namespace: "string",
    operation: "string",
    userInfo: userType,
    dryRun: "bool",
    options: "dyn",
  },
};

/** Bounds the depth of what is built from an expression; more than any condition that people write. */
const maxAstNodes = 2000;

/** The function that makes a pattern of what is written in a condition; no server has it. */
export const goPattern = "goPattern";

class GoPattern {
  readonly #expression: GoRegexp;

  constructor(text: string) {
    this.#expression = compileGoRegexp(text);
  }

  test(text: string): boolean {
    return this.#expression.test(text);
  }
}

/** The variables of the match conditions of webhooks. */
export function conditionEnvironment(): Environment {
  const environment = new Environment({ limits: { maxAstNodes } });
  for (const [name, schema] of Object.entries(schemas)) {
    environment.registerType({ name, schema: { ...schema } });
    environment.registerOperator(
      `${name} == ${name}`,
      (one: Map<string, unknown>, other: Map<string, unknown>) => jsonEqual(plain(one), plain(other)),
    );
    environment.registerOperator(`${name} == null`, () => false);
  }
  environment.registerVariable("object", "dyn");
  environment.registerVariable("oldObject", "dyn");
  environment.registerVariable("request", requestType);
  environment.registerType("GoPattern", GoPattern);
  environment.registerFunction(`${goPattern}(string): GoPattern`, (text: string) => new GoPattern(text));
  environment.registerFunction("string.matches(GoPattern): bool", matches);
  environment.registerFunction("matches(string, GoPattern): bool", matches);
  return environment.registerFunction("matches(string, string): bool", (text: string, pattern: string) =>
    matches(text, new GoPattern(pattern)),
  );
}

function matches(text: string, pattern: GoPattern): boolean {
  return pattern.test(text);
}

function plain(value: unknown): unknown {
  return value instanceof Map
    ? Object.fromEntries([...value].map(([key, item]) => [String(key), plain(item)]))
    : value;
}

/** Variables that a server has, and this one has not. */
export const otherVariables: ReadonlySet<string> = new Set(["authorizer", "namespaceObject"]);

/** Functions and macros that a server has, and this one has not. */
export const otherFunctions: ReadonlySet<string> = new Set(
  `sortBy transformList transformMap transformMapEntry isSorted sum min max find findAll charAt replace reverse format
  quote url isURL getScheme getHost getHostname getPort getEscapedPath getQuery
  quantity isQuantity sign add sub isLessThan isGreaterThan compareTo asInteger asApproximateFloat isInteger
  ip isIP cidr isCIDR containsIP containsCIDR family isUnspecified isLoopback isLinkLocalMulticast
  isLinkLocalUnicast isGlobalUnicast isCanonical masked prefixLength semver isSemver major minor patch
  hasValue value orValue optMap optFlatMap validate named sets contains_all flatten slice distinct range`.split(
    /\s+/,
  ),
);

/** Functions of the library that no server has. */
export const foreignFunctions: ReadonlySet<string> = new Set([
  "json",
  "hex",
  "base64",
  "at",
  "bind",
  goPattern,
]);
