/** OpenAPI documents: what kubectl explains, validates and merges by. */
import { createHash } from "node:crypto";
import { type Fields, isFields } from "../json.ts";
import { coreSource } from "../resources/builtin.ts";
import type { Registry } from "../resources/registry.ts";
import type { Served } from "../resources/resource.ts";
import type { Shape } from "../resources/shape.ts";
import { noSuchResource, notAcceptable } from "./api_error.ts";
import type { Discovery } from "./discovery.ts";
import { type Exchange, jsonReply, type Reply, textReply } from "./exchange.ts";
import { parseAccept } from "./negotiate.ts";

const schemaPrefix = "#/components/schemas/";

export class OpenApi {
  readonly #registry: Registry;
  readonly #discovery: Discovery;
  readonly #documents = new Map<string, { generation: number; body: Buffer; hash: string }>();

  constructor(registry: Registry, discovery: Discovery) {
    this.#registry = registry;
    this.#discovery = discovery;
  }

  reply(exchange: Exchange): Reply {
    const { path } = exchange;
    if (path === "/openapi/v2") return this.#v2(exchange);
    if (path === "/openapi/v3" || path === "/openapi/v3/") return jsonReply(200, { paths: this.#index() });
    const groupVersion = path.slice("/openapi/v3/".length);
    if (!path.startsWith("/openapi/v3/") || !(groupVersion in this.#index())) {
      return textReply(404, "404 page not found\n");
    }
    const { body, hash } = this.#document(groupVersion);
    const etag = `"${hash}"`;
    return { code: 200, contentType: "application/json", body, headers: { etag, vary: "Accept" } };
  }

  #index(): Fields {
    const paths: Fields = {};
    for (const [group, versions] of this.#discovery.groups()) {
      for (const version of versions) {
        const name = group === "" ? `api/${version}` : `apis/${group}/${version}`;
        paths[name] = { serverRelativeURL: `/openapi/v3/${name}?hash=${this.#document(name).hash}` };
      }
    }
    return paths;
  }

  #document(groupVersion: string): { body: Buffer; hash: string } {
    const known = this.#documents.get(groupVersion);
    const { generation } = this.#registry;
    if (known !== undefined && known.generation === generation) return known;
    const parts = groupVersion.split("/");
    const group = parts[0] === "api" ? "" : (parts[1] ?? "");
    const version = parts.at(-1) ?? "";
    const served = [...this.#registry.all()].filter((one) => one.group === group && one.version === version);
    const document = {
      openapi: "3.0.0",
      info: { title: "Kubernetes", version: "v1.34.0" },
      paths: Object.assign({}, ...served.map((one) => pathsOf(one, schemaPrefix))),
      components: { schemas: schemasOf(served) },
    };
    const body = Buffer.from(JSON.stringify(document));
    const hash = createHash("sha256").update(body).digest("hex").toUpperCase();
    const made = { generation, body, hash };
    this.#documents.set(groupVersion, made);
    return made;
  }

  #v2(exchange: Exchange): Reply {
    const accepted = parseAccept(exchange.header("accept") ?? "*/*").map((clause) => clause.type);
    if (!accepted.some((type) => type === "*/*" || type === "application/json" || type === "application/*")) {
      throw notAcceptable(["application/json"]);
    }
    const served = [...this.#registry.all()];
    if (served.length === 0) throw noSuchResource();
    const document = {
      swagger: "2.0",
      info: { title: "Kubernetes", version: "v1.34.0" },
      paths: Object.assign({}, ...served.map((one) => pathsOf(one, "#/definitions/"))),
      definitions: JSON.parse(JSON.stringify(schemasOf(served)).replaceAll(schemaPrefix, "#/definitions/")),
    };
    return jsonReply(200, document);
  }
}

/** `io.k8s.api.core.v1.Pod`, `io.kruise.apps.v1alpha1.CloneSet`. */
function schemaName(served: Served): string {
  if (!served.resource.custom) return served.shape.name;
  return [...served.group.split(".").reverse(), served.version, served.kind].join(".");
}

function schemasOf(served: readonly Served[]): Fields {
  const schemas: Fields = {};
  const add = (name: string): void => {
    const schema = coreSource.components[name];
    if (name in schemas || !isFields(schema)) return;
    schemas[name] = schema;
    for (const reference of referencesIn(schema)) add(reference);
  };
  for (const one of served) {
    if (!one.resource.custom) {
      add(one.shape.name);
      continue;
    }
    schemas[schemaName(one)] = customSchema(one, one.shape);
    add("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  }
  for (const name of ["DeleteOptions", "ListMeta", "Status"])
    add(`io.k8s.apimachinery.pkg.apis.meta.v1.${name}`);
  return schemas;
}

function referencesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (!isFields(value)) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === "$ref" && typeof member === "string"
      ? [member.slice(schemaPrefix.length)]
      : referencesIn(member),
  );
}

function customSchema(served: Served, shape: Shape): Fields {
  const properties = isFields(shape.raw["properties"]) ? shape.raw["properties"] : {};
  return {
    ...shape.raw,
    type: "object",
    properties: {
      ...properties,
      apiVersion: {
        type: "string",
        description: "Group and version of the schema that this object follows.",
      },
      kind: { type: "string", description: "Name of the kind of this object." },
      metadata: {
        description: "Name, labels and everything else that all objects have.",
        allOf: [{ $ref: `${schemaPrefix}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta` }],
      },
    },
    "x-kubernetes-group-version-kind": [kindOf(served)],
  };
}

function kindOf(served: Served): Fields {
  return { group: served.group, version: served.version, kind: served.kind };
}

const actions: readonly (readonly [method: string, verb: string, onItem: boolean])[] = [
  ["get", "list", false],
  ["post", "create", false],
  ["delete", "deletecollection", false],
  ["get", "get", true],
  ["put", "update", true],
  ["patch", "patch", true],
  ["delete", "delete", true],
];

const parameters: readonly Fields[] = [
  { name: "dryRun", in: "query", description: "All: the request is validated and not stored." },
  { name: "fieldManager", in: "query", description: "Who the written fields belong to." },
  {
    name: "fieldValidation",
    in: "query",
    description: "What happens to unknown fields: Ignore, Warn or Strict.",
  },
].map((parameter) => ({ ...parameter, schema: { type: "string", uniqueItems: true } }));

/** kubectl chooses its patch by these: strategic ones are for built-in types only. */
const customPatchTypes = [
  "application/apply-patch+yaml",
  "application/json-patch+json",
  "application/merge-patch+json",
];
const patchTypes = [...customPatchTypes, "application/strategic-merge-patch+json"];

function pathsOf(served: Served, prefix: string): Fields {
  const root = served.group === "" ? `/api/${served.version}` : `/apis/${served.group}/${served.version}`;
  const base = served.resource.namespaced
    ? `${root}/namespaces/{namespace}/${served.plural}`
    : `${root}/${served.plural}`;
  const reference = { $ref: `${prefix}${schemaName(served)}` };
  const collection: Fields = {};
  const item: Fields = {};
  for (const [method, verb, onItem] of actions) {
    if (!served.verbs.includes(verb)) continue;
    (onItem ? item : collection)[method] = operation(served, method, verb, reference, prefix);
  }
  return { [base]: collection, [`${base}/{name}`]: item };
}

function operation(served: Served, method: string, verb: string, reference: Fields, prefix: string): Fields {
  const writes = method === "post" || method === "put" || method === "patch";
  const types =
    method === "patch" ? (served.resource.custom ? customPatchTypes : patchTypes) : ["application/json"];
  const v3 = prefix === schemaPrefix;
  const content = Object.fromEntries(
    types.map((type) => [type, { schema: writes && method !== "patch" ? reference : { type: "object" } }]),
  );
  return {
    description: `${verb} ${served.kind}`,
    operationId: `${verb}${served.group}${served.version}${served.kind}`,
    "x-kubernetes-action": verb,
    "x-kubernetes-group-version-kind": kindOf(served),
    ...(writes ? { parameters } : {}),
    ...(writes && v3 ? { requestBody: { content, required: true } } : {}),
    responses: {
      "200": {
        description: "OK",
        ...(v3 ? { content: { "application/json": { schema: reference } } } : { schema: reference }),
      },
    },
  };
}
