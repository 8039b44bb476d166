/** From a kind's declaration to its CustomResourceDefinition (apiextensions.k8s.io/v1). Spec: platform 1.1, 4.5. */
import type { TSchema } from "typebox";
import { definitionName, type KindDefinition, type KindVersion } from "./kind.ts";

export type JsonSchema = { [keyword: string]: unknown };

export interface DefinitionOptions {
  /** Service that answers `/convert` at port 443. Default: kruise-webhook-service in kruise-system. */
  service?: { namespace: string; name: string };
  /** Instead of the service: base of the URL that answers `/convert`, `https://127.0.0.1:9876`. */
  url?: string;
  /** Base64 PEM; left to the running controller by default. */
  caBundle?: string;
}

/** Plain JSON of a schema: TypeBox's own marks are dropped, `required` is sorted. */
export function openApiSchema(schema: TSchema): JsonSchema {
  const plain: unknown = JSON.parse(JSON.stringify(schema));
  return isSchema(plain) ? tidy(plain) : {};
}

const schemas = new WeakMap<KindVersion, JsonSchema>();

/** Schema of a whole object of one version, identity fields included; made once. */
export function versionSchema(definition: KindDefinition, version: KindVersion): JsonSchema {
  const known = schemas.get(version);
  if (known !== undefined) return known;
  const schema = madeSchema(definition, version);
  schemas.set(version, schema);
  return schema;
}

function madeSchema(definition: KindDefinition, version: KindVersion): JsonSchema {
  return {
    type: "object",
    description: definition.description,
    properties: {
      apiVersion: { type: "string", description: "Group and version of this object's schema." },
      kind: { type: "string", description: "Kind of the object." },
      metadata: { type: "object" },
      spec: openApiSchema(version.spec),
      status: openApiSchema(version.status),
    },
  };
}

/** The complete definition object, as it is installed. */
export function customResourceDefinition(definition: KindDefinition, options: DefinitionOptions = {}) {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: definitionName(definition) },
    spec: {
      group: definition.group,
      names: {
        kind: definition.kind,
        listKind: `${definition.kind}List`,
        plural: definition.plural,
        singular: definition.singular,
        ...(definition.shortNames.length > 0 ? { shortNames: [...definition.shortNames] } : {}),
      },
      scope: definition.scope,
      ...conversion(definition, options),
      versions: definition.versions.map((version) => ({
        name: version.name,
        served: version.served,
        storage: version.storage,
        schema: { openAPIV3Schema: versionSchema(definition, version) },
        subresources: { status: {}, ...(version.scale ? { scale: { ...version.scale } } : {}) },
        ...(version.columns.length > 0
          ? { additionalPrinterColumns: version.columns.map((column) => ({ ...column })) }
          : {}),
      })),
    },
  };
}

function conversion(definition: KindDefinition, options: DefinitionOptions) {
  if (definition.conversion === "None") return {};
  const service = options.service ?? { namespace: "kruise-system", name: "kruise-webhook-service" };
  const target =
    options.url === undefined
      ? { service: { ...service, path: "/convert", port: 443 } }
      : { url: `${options.url}/convert` };
  const clientConfig = {
    ...target,
    ...(options.caBundle === undefined ? {} : { caBundle: options.caBundle }),
  };
  return {
    conversion: {
      strategy: "Webhook",
      webhook: { clientConfig, conversionReviewVersions: ["v1", "v1beta1"] },
    },
  };
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function tidy(schema: JsonSchema): JsonSchema {
  const { description, type, ...rest } = schema;
  const result: JsonSchema = {
    ...(description === undefined ? {} : { description }),
    ...(type === undefined ? {} : { type }),
  };
  for (const [keyword, value] of Object.entries(rest)) {
    if (keyword === "required") {
      if (Array.isArray(value) && value.length > 0) result["required"] = [...value].sort();
    } else if (keyword === "properties" && isSchema(value)) {
      result["properties"] = Object.fromEntries(
        Object.keys(value)
          .sort()
          .map((name) => {
            const field = value[name];
            return [name, isSchema(field) ? tidy(field) : field];
          }),
      );
    } else if ((keyword === "items" || keyword === "additionalProperties") && isSchema(value)) {
      result[keyword] = tidy(value);
    } else {
      result[keyword] = value;
    }
  }
  return result;
}
