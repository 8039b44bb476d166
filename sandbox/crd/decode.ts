/** Custom objects: unknown fields are pruned, except below x-kubernetes-preserve-unknown-fields. */
import { cloneJson } from "../../kube/core/index.ts";
import { badRequest } from "../http/api_error.ts";
import { type Fields, isFields } from "../json.ts";
import { coreShape } from "../resources/builtin.ts";
import type { Shape } from "../resources/shape.ts";
import { decodeTyped, type Typed, TypeMismatch } from "../resources/typed.ts";

const objectMeta = coreShape("", "v1", "ObjectMeta");

/** A copy without what the schema does not know; metadata is typed as everywhere. */
export function decodeCustom(value: Fields, shape: Shape): Typed {
  const unknown: string[] = [];
  const object: Fields = {};
  for (const [name, member] of Object.entries(value)) {
    if (name === "apiVersion" || name === "kind") object[name] = member;
    else if (name === "metadata") object[name] = decodeMetadata(member, "metadata", unknown);
    else {
      const memberShape = shape.member(name);
      if (isDroppedNull(member, memberShape)) continue;
      if (memberShape !== undefined) object[name] = prune(member, memberShape, name, unknown);
      else if (shape.preserves) object[name] = cloneJson(member);
      else unknown.push(`unknown field "${name}"`);
    }
  }
  return { object, unknown: unknown.sort() };
}

/** Null where the schema allows none counts as absent; where it has a default, that takes its place later. */
function isDroppedNull(value: unknown, shape: Shape | undefined): boolean {
  return value === null && shape !== undefined && !shape.nullable && shape.raw["default"] === undefined;
}

function decodeMetadata(value: unknown, path: string, unknown: string[]): Fields {
  if (!isFields(value)) return {};
  try {
    const typed = decodeTyped(value, objectMeta);
    unknown.push(...typed.unknown.map((text) => text.replace('field "', `field "${path}.`)));
    return typed.object;
  } catch (error) {
    if (!(error instanceof TypeMismatch)) throw error;
    throw badRequest(`converting (v1.ObjectMeta) to (v1.ObjectMeta): ${error.message}`);
  }
}

function prune(value: unknown, shape: Shape, path: string, unknown: string[]): unknown {
  if (Array.isArray(value)) {
    const { items } = shape;
    if (items === undefined) return cloneJson<unknown>(value);
    return value.map((item, at) => prune(item, items, `${path}[${at}]`, unknown));
  }
  if (!isFields(value)) return value;
  const kept: Fields = {};
  for (const [name, member] of Object.entries(value)) {
    const inner = `${path}.${name}`;
    if (shape.embedded && (name === "apiVersion" || name === "kind")) kept[name] = member;
    else if (shape.embedded && name === "metadata") kept[name] = decodeMetadata(member, inner, unknown);
    else {
      const memberShape = shape.member(name) ?? shape.values;
      if (isDroppedNull(member, memberShape)) continue;
      if (memberShape !== undefined) kept[name] = prune(member, memberShape, inner, unknown);
      else if (shape.preserves || shape.type === "any" || shape.raw["additionalProperties"] === true) {
        kept[name] = cloneJson(member);
      } else unknown.push(`unknown field "${inner}"`);
    }
  }
  return kept;
}
