/** OpenAPI 2.0 of the served types: the same schemas as in version 3 without what version 2 lacks, as JSON and as protobuf. */
import { openapi } from "../../proto/index.ts";
import { type Fields, fieldsAt, isFields, listAt, numberAt, objectsAt, textAt, textsAt } from "../json.ts";

const pathPrefix = "#/definitions/";

/** A schema of version 3 in the words of version 2. API servers drop the same: kubectl cannot read the rest. */
export function schemaV2(schema: Fields): Fields {
  const { allOf, anyOf: _anyOf, oneOf, not: _not, nullable, ...rest } = schema;
  const converted: Fields = { ...rest };
  const reference = textAt(schema, "$ref") || textAt(listAt({ allOf }, "allOf")[0], "$ref");
  if (reference !== "") converted["$ref"] = `${pathPrefix}${reference.split("/").at(-1)}`;
  // Numbers that may be written as text: `IntOrString` and `Quantity`.
  if (oneOf !== undefined && converted["type"] === undefined && reference === "")
    converted["type"] = "string";
  if (nullable === true) delete converted["type"];
  if (nullable === true || schema["x-kubernetes-preserve-unknown-fields"] === true) {
    delete converted["items"];
    delete converted["properties"];
  }
  for (const member of ["items", "additionalProperties"]) {
    const nested = converted[member];
    if (isFields(nested)) converted[member] = schemaV2(nested);
  }
  if (isFields(converted["properties"]))
    converted["properties"] = mapFields(converted["properties"], schemaV2);
  return converted;
}

export function mapFields(fields: Fields, change: (member: Fields) => Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, member]) => [name, isFields(member) ? change(member) : member]),
  );
}

/** A whole document as protobuf (gnostic's `openapi.v2.Document`). */
export function documentBytes(document: Fields): Buffer {
  const paths = namedList(fieldsAt(document, "paths"), pathItem);
  const definitions = namedList(fieldsAt(document, "definitions"), schemaMessage);
  return Buffer.from(
    openapi.encode(openapi.Document, {
      swagger: textAt(document, "swagger"),
      info: { title: textAt(document, "info", "title"), version: textAt(document, "info", "version") },
      paths: { path: paths },
      definitions: { additional_properties: definitions },
    }),
  );
}

function namedList<T>(fields: Fields, read: (member: Fields) => T): { name: string; value: T }[] {
  return Object.entries(fields).flatMap(([name, member]) =>
    isFields(member) ? [{ name, value: read(member) }] : [],
  );
}

function pathItem(item: Fields): openapi.Input<openapi.PathItem> {
  const operationAt = (method: string) => {
    const operation = item[method];
    return isFields(operation) ? operationMessage(operation) : undefined;
  };
  return {
    get: operationAt("get"),
    put: operationAt("put"),
    post: operationAt("post"),
    delete: operationAt("delete"),
    patch: operationAt("patch"),
    parameters: objectsAt(item, "parameters").map(parameterMessage),
  };
}

function operationMessage(operation: Fields): openapi.Input<openapi.Operation> {
  return {
    description: textAt(operation, "description"),
    operation_id: textAt(operation, "operationId"),
    consumes: textsAt(operation, "consumes"),
    produces: textsAt(operation, "produces"),
    parameters: objectsAt(operation, "parameters").map(parameterMessage),
    responses: {
      response_code: namedList(fieldsAt(operation, "responses"), (response) => ({
        response: {
          description: textAt(response, "description"),
          schema: { schema: schemaMessage(fieldsAt(response, "schema")) },
        },
      })),
    },
    vendor_extension: extensions(operation),
  };
}

function parameterMessage(parameter: Fields): openapi.Input<openapi.ParametersItem> {
  const shared = {
    name: textAt(parameter, "name"),
    in: textAt(parameter, "in"),
    description: textAt(parameter, "description"),
  };
  const required = parameter["required"] === true;
  if (shared.in === "body") {
    const schema = schemaMessage(fieldsAt(parameter, "schema"));
    return { parameter: { body_parameter: { ...shared, required, schema } } };
  }
  const plain = {
    ...shared,
    type: textAt(parameter, "type"),
    unique_items: parameter["uniqueItems"] === true,
  };
  const one =
    shared.in === "path"
      ? { path_parameter_sub_schema: { ...plain, required } }
      : { query_parameter_sub_schema: plain };
  return { parameter: { non_body_parameter: one } };
}

function schemaMessage(schema: Fields): openapi.Input<openapi.Schema> {
  const { items, properties } = schema;
  const type = textAt(schema, "type");
  return {
    _ref: textAt(schema, "$ref"),
    format: textAt(schema, "format"),
    title: textAt(schema, "title"),
    description: textAt(schema, "description"),
    pattern: textAt(schema, "pattern"),
    multiple_of: numberAt(schema, "multipleOf"),
    maximum: numberAt(schema, "maximum"),
    exclusive_maximum: schema["exclusiveMaximum"] === true,
    minimum: numberAt(schema, "minimum"),
    exclusive_minimum: schema["exclusiveMinimum"] === true,
    max_length: countAt(schema, "maxLength"),
    min_length: countAt(schema, "minLength"),
    max_items: countAt(schema, "maxItems"),
    min_items: countAt(schema, "minItems"),
    unique_items: schema["uniqueItems"] === true,
    max_properties: countAt(schema, "maxProperties"),
    min_properties: countAt(schema, "minProperties"),
    required: textsAt(schema, "required"),
    enum: listAt(schema, "enum").map(yaml),
    default: optionalYaml(schema["default"]),
    example: optionalYaml(schema["example"]),
    additional_properties: additionalProperties(schema["additionalProperties"]),
    type: type === "" ? undefined : { value: [type] },
    items: isFields(items) ? { schema: [schemaMessage(items)] } : undefined,
    properties: isFields(properties)
      ? { additional_properties: namedList(properties, schemaMessage) }
      : undefined,
    vendor_extension: extensions(schema),
  };
}

/** Definitions of users may hold any number here; only counts have a place in the message. */
function countAt(schema: Fields, name: string): number | undefined {
  const count = numberAt(schema, name);
  return Number.isSafeInteger(count) ? count : undefined;
}

function additionalProperties(value: unknown): openapi.Input<openapi.AdditionalPropertiesItem> | undefined {
  if (isFields(value)) return { schema: schemaMessage(value) };
  return typeof value === "boolean" ? { boolean: value } : undefined;
}

function extensions(value: Fields): openapi.Input<openapi.NamedAny>[] {
  return Object.entries(value).flatMap(([name, member]) =>
    name.startsWith("x-") ? [{ name, value: yaml(member) }] : [],
  );
}

/** JSON is YAML. */
function yaml(value: unknown): openapi.Input<openapi.Any> {
  return { yaml: JSON.stringify(value) };
}

function optionalYaml(value: unknown): openapi.Input<openapi.Any> | undefined {
  return value === undefined ? undefined : yaml(value);
}
