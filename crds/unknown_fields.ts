/** What a manifest says that its kind does not know: the API server would drop it. Mostly a typo. */
import { isJsonObject, type JsonObject, type UnknownMember, unknownMembers } from "../kube/core/index.ts";
import { type CorePlace, coreValues } from "./core_places.ts";
import { type JsonSchema, versionSchema } from "./definition.ts";
import type { KindDefinition } from "./kind.ts";
import { versionOf } from "./kind_reader.ts";
import { member } from "./members.ts";

/** In the order of the kind's parts. Throws SchemaError `UnsupportedVersion` for another apiVersion. */
export function unknownFields(definition: KindDefinition, object: JsonObject): UnknownMember[] {
  const { metadata, ...others } = object;
  const schema = versionSchema(definition, versionOf(definition, object));
  const found: UnknownMember[] = unknownMembers(metadata, "ObjectMeta", "metadata");
  visit(schema, others, "", found);
  for (const place of definition.corePlaces ?? []) {
    // A container of a SidecarSet has members of its own beside those of all containers.
    const declared = propertiesAt(schema, place);
    for (const { value, type, path } of coreValues(object, [place]))
      for (const unknown of unknownMembers(value, type, path))
        if (unknown.path !== `${path}.${unknown.name}` || !Object.hasOwn(declared, unknown.name))
          found.push(unknown);
  }
  return found;
}

function propertiesAt(schema: JsonSchema, { path, isList }: CorePlace): JsonObject {
  const holder = path.reduce((parent, name) => member(member(parent, "properties"), name), schema);
  return member(isList === true ? member(holder, "items") : holder, "properties");
}

function visit(schema: JsonSchema, value: unknown, path: string, found: UnknownMember[]): void {
  const { properties, additionalProperties, items } = schema;
  if (Array.isArray(value)) {
    if (isJsonObject(items))
      for (const [index, item] of value.entries()) visit(items, item, `${path}[${index}]`, found);
    return;
  }
  if (!isJsonObject(value)) return;
  const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true || additionalProperties === true;
  const known = isJsonObject(properties) ? properties : {};
  for (const [name, content] of Object.entries(value)) {
    const inner = path === "" ? name : `${path}.${name}`;
    const field = Object.hasOwn(known, name) ? known[name] : additionalProperties;
    if (isJsonObject(field)) visit(field, content, inner, found);
    else if (!isOpen && schema["type"] === "object")
      found.push({ path: inner, name, known: Object.keys(known) });
  }
}
