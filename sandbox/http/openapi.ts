/** OpenAPI documents: what kubectl explains, validates and merges by. */
import { createHash } from "node:crypto";
import { type Fields, isFields } from "../json.ts";
import { coreSource } from "../resources/builtin.ts";
import type { Registry } from "../resources/registry.ts";
import type { Served } from "../resources/resource.ts";
import type { Shape } from "../resources/shape.ts";
import { notAcceptable } from "./api_error.ts";
import type { Discovery } from "./discovery.ts";
import { type Exchange, jsonReply, type Reply, textReply } from "./exchange.ts";
import { parseAccept } from "./negotiate.ts";
import { documentBytes, mapFields, schemaV2 } from "./openapi_v2.ts";

const schemaPrefix = "#/components/schemas/";

/** A document as it is sent, made once for each state of the served types. */
interface Made {
  readonly generation: number;
  readonly body: Buffer;
  readonly hash: string;
}

const jsonType = "application/json";
const protobufType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/** What is answered to a type that a client accepts for version 2. The spelling with `@` is that of kubectl. */
const v2Types = new Map([
  ["*/*", jsonType],
  ["application/*", jsonType],
  [jsonType, jsonType],
  [protobufType, protobufType],
  ["application/com.github.proto-openapi.spec.v2@v1.0+protobuf", protobufType],
]);

export class OpenApi {
  readonly #registry: Registry;
  readonly #discovery: Discovery;
  readonly #info: Fields;
  readonly #documents = new Map<string, Made>();

  /** `version`: of Kubernetes, as `v1.34.4`. */
  constructor(registry: Registry, discovery: Discovery, version: string) {
    this.#registry = registry;
    this.#discovery = discovery;
    this.#info = { title: "Kubernetes", version };
  }

  reply(exchange: Exchange): Reply {
    const { path } = exchange;
    if (path === "/openapi/v2") return this.#v2(exchange);
    if (path === "/openapi/v3" || path === "/openapi/v3/") return jsonReply(200, { paths: this.#index() });
    const groupVersion = path.slice("/openapi/v3/".length);
    if (!path.startsWith("/openapi/v3/") || !(groupVersion in this.#index())) {
      return textReply(404, "404 page not found\n");
    }
    return documentReply(this.#document(groupVersion), jsonType);
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

  #made(key: string, make: () => Buffer): Made {
    const known = this.#documents.get(key);
    const { generation } = this.#registry;
    if (known?.generation === generation) return known;
    const body = make();
    const hash = createHash("sha256").update(body).digest("hex").toUpperCase();
    const made = { generation, body, hash };
    this.#documents.set(key, made);
    return made;
  }

  #document(groupVersion: string): Made {
    return this.#made(groupVersion, () => jsonBytes(this.#v3(groupVersion)));
  }

  #v3(groupVersion: string): Fields {
    const parts = groupVersion.split("/");
    const group = parts[0] === "api" ? "" : (parts[1] ?? "");
    const version = parts.at(-1) ?? "";
    const served = [...this.#registry.all()].filter((one) => one.group === group && one.version === version);
    return {
      openapi: "3.0.0",
      info: this.#info,
      paths: Object.assign({}, ...served.map((one) => pathsOf(one, operationV3))),
      components: { schemas: schemasOf(served) },
    };
  }

  #v2(exchange: Exchange): Reply {
    const accepted = parseAccept(exchange.header("accept") ?? "*/*");
    const contentType = accepted.map(({ type }) => v2Types.get(type)).find((type) => type !== undefined);
    if (contentType === undefined) throw notAcceptable([jsonType, protobufType]);
    const encode = contentType === jsonType ? jsonBytes : documentBytes;
    return documentReply(
      this.#made(contentType, () => encode(this.#documentV2())),
      contentType,
    );
  }

  #documentV2(): Fields {
    const served = [...this.#registry.all()];
    return {
      swagger: "2.0",
      info: this.#info,
      paths: Object.assign({}, ...served.map((one) => pathsOf(one, operationV2))),
      definitions: mapFields(schemasOf(served), schemaV2),
    };
  }
}

function jsonBytes(document: Fields): Buffer {
  return Buffer.from(JSON.stringify(document));
}

function documentReply({ body, hash }: Made, contentType: string): Reply {
  return { code: 200, contentType, body, headers: { etag: `"${hash}"`, vary: "Accept" } };
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
];
const parameterType = { type: "string", uniqueItems: true };

/** kubectl chooses its patch by these: strategic ones are for built-in types only. */
const customPatchTypes = [
  "application/apply-patch+yaml",
  "application/json-patch+json",
  "application/merge-patch+json",
];
const patchTypes = [...customPatchTypes, "application/strategic-merge-patch+json"];

/** What can be done to a type: `method` of HTTP, `verb` of the API. */
interface Action {
  readonly served: Served;
  readonly method: string;
  readonly verb: string;
}

function pathsOf(served: Served, describe: (action: Action) => Fields): Fields {
  const root = served.group === "" ? `/api/${served.version}` : `/apis/${served.group}/${served.version}`;
  const base = served.resource.namespaced
    ? `${root}/namespaces/{namespace}/${served.plural}`
    : `${root}/${served.plural}`;
  const collection: Fields = {};
  const item: Fields = {};
  for (const [method, verb, onItem] of actions) {
    if (!served.verbs.includes(verb)) continue;
    (onItem ? item : collection)[method] = describe({ served, method, verb });
  }
  return { [base]: collection, [`${base}/{name}`]: item };
}

function operation({ served, verb }: Action): Fields {
  return {
    description: `${verb} ${served.kind}`,
    operationId: `${verb}${served.group}${served.version}${served.kind}`,
    "x-kubernetes-action": verb,
    "x-kubernetes-group-version-kind": kindOf(served),
  };
}

function operationV3(action: Action): Fields {
  const { served, method } = action;
  const types = bodyTypes(action);
  const reference = { $ref: `${schemaPrefix}${schemaName(served)}` };
  const schema = method === "patch" ? { type: "object" } : reference;
  const content = Object.fromEntries(types.map((type) => [type, { schema }]));
  const writes = {
    parameters: parameters.map((parameter) => ({ ...parameter, schema: parameterType })),
    requestBody: { content, required: true },
  };
  return {
    ...operation(action),
    ...(types.length > 0 ? writes : {}),
    responses: { "200": { description: "OK", content: { [jsonType]: { schema: reference } } } },
  };
}

function operationV2(action: Action): Fields {
  const { served, method } = action;
  const consumes = bodyTypes(action);
  const schema = schemaV2({ $ref: `${schemaPrefix}${schemaName(served)}` });
  const body = {
    name: "body",
    in: "body",
    required: true,
    schema: method === "patch" ? { type: "object" } : schema,
  };
  const query = parameters.map((parameter) => ({ ...parameter, ...parameterType }));
  return {
    ...operation(action),
    ...(consumes.length > 0 ? { consumes, parameters: [body, ...query] } : {}),
    produces: [jsonType],
    responses: { "200": { description: "OK", schema } },
  };
}

/** Of the body that an action takes; none where it takes none. */
function bodyTypes({ served, method }: Action): readonly string[] {
  if (method === "patch") return served.resource.custom ? customPatchTypes : patchTypes;
  return method === "post" || method === "put" ? [jsonType] : [];
}
