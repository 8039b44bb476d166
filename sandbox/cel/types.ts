/** Static types of expressions. Objects under admission have none (`dyn`); the request has. */
export type CelType =
  | { readonly kind: "bool" | "int" | "double" | "string" | "null" | "dyn" }
  | { readonly kind: "list"; readonly of: CelType }
  | { readonly kind: "map"; readonly of: CelType }
  | { readonly kind: "object"; readonly name: string; readonly fields: Readonly<Record<string, CelType>> };

export const dyn: CelType = { kind: "dyn" };
export const bool: CelType = { kind: "bool" };
export const int: CelType = { kind: "int" };
export const double: CelType = { kind: "double" };
export const string: CelType = { kind: "string" };
export const nullType: CelType = { kind: "null" };

export function listOf(of: CelType): CelType {
  return { kind: "list", of };
}

function object(name: string, fields: Readonly<Record<string, CelType>>): CelType {
  return { kind: "object", name: `kubernetes.${name}`, fields };
}

const kindType = object("GroupVersionKind", { group: string, version: string, kind: string });
const resourceType = object("GroupVersionResource", { group: string, version: string, resource: string });

const requestType = object("AdmissionRequest", {
  kind: kindType,
  resource: resourceType,
  subResource: string,
  requestKind: kindType,
  requestResource: resourceType,
  requestSubResource: string,
  name: string,
  namespace: string,
  operation: string,
  userInfo: object("UserInfo", {
    username: string,
    uid: string,
    groups: listOf(string),
    extra: { kind: "map", of: listOf(string) },
  }),
  dryRun: bool,
  options: dyn,
});

/** The variables of the match conditions of webhooks. */
export const variableTypes: ReadonlyMap<string, CelType> = new Map([
  ["object", dyn],
  ["oldObject", dyn],
  ["request", requestType],
]);

/** Variables that a server has, and this one has not. */
export const otherVariables: ReadonlySet<string> = new Set(["authorizer", "namespaceObject"]);

/** Functions and macros that a server has, and this one has not. */
export const otherFunctions: ReadonlySet<string> = new Set(
  `map filter exists_one sortBy transformList transformMap transformMapEntry
  int uint double string bytes bool type dyn duration timestamp
  getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear getHours getMinutes getSeconds getMilliseconds
  isSorted sum min max indexOf lastIndexOf find findAll charAt lowerAscii upperAscii replace split substring trim join
  reverse format quote url isURL getScheme getHost getHostname getPort getEscapedPath getQuery
  quantity isQuantity sign add sub isLessThan isGreaterThan compareTo asInteger asApproximateFloat isInteger
  ip isIP cidr isCIDR containsIP containsCIDR family isUnspecified isLoopback isLinkLocalMulticast
  isLinkLocalUnicast isGlobalUnicast isCanonical masked prefixLength semver isSemver major minor patch
  hasValue value orValue optMap optFlatMap validate named sets contains_all flatten slice distinct range`.split(
    /\s+/,
  ),
);

export function typeText(type: CelType): string {
  switch (type.kind) {
    case "list":
      return `list(${typeText(type.of)})`;
    case "map":
      return `map(string, ${typeText(type.of)})`;
    case "object":
      return type.name;
    default:
      return type.kind;
  }
}

/** Whether values of the two types can be of one type. */
export function agree(one: CelType, other: CelType): boolean {
  if (one.kind === "dyn" || other.kind === "dyn") return true;
  if (one.kind === "null" || other.kind === "null") {
    return [one, other].every(({ kind }) => kind === "null" || kind === "object");
  }
  if (one.kind === "object" && other.kind === "object") return one.name === other.name;
  if ((one.kind === "list" && other.kind === "list") || (one.kind === "map" && other.kind === "map")) {
    return agree(one.of, other.of);
  }
  return one.kind === other.kind;
}
