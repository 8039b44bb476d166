/**
 * The NodeImage's spec as the puller may rely on it. A server with this project's definitions stores nothing else; a spec
 * that was saved on disk, or stored before a definition had its schema, may hold anything. Pure.
 */
import type { NodeImageSpec } from "../../crds/index.ts";
import { isJsonObject } from "../../kube/core/index.ts";

type ImageSpec = NonNullable<NodeImageSpec["images"]>[string];
type TagSpec = ImageSpec["tags"][number];

export interface CheckedSpec {
  readonly spec: NodeImageSpec;
  /** Paths of what cannot be read and is left out, `images[nginx].tags[0]`. */
  readonly ignored: readonly string[];
}

export function checkedSpec(given: unknown): CheckedSpec {
  const ignored: string[] = [];
  const images = new Map<string, ImageSpec>();
  const listed = isJsonObject(given) ? given["images"] : undefined;
  if (isJsonObject(listed)) {
    for (const [name, value] of Object.entries(listed)) {
      const path = `images[${name}]`;
      if (isJsonObject(value) && Array.isArray(value["tags"]))
        images.set(name, imageOf(value, path, ignored));
      else ignored.push(path);
    }
  } else if (listed !== undefined) ignored.push("images");
  return { spec: { images: Object.fromEntries(images) }, ignored };
}

function imageOf(value: Readonly<Record<string, unknown>>, path: string, ignored: string[]): ImageSpec {
  const part = <T>(name: string, is: (found: unknown) => found is T): T | undefined => {
    const found = value[name] ?? undefined;
    if (found === undefined || is(found)) return found;
    ignored.push(`${path}.${name}`);
    return undefined;
  };
  const tags: TagSpec[] = [];
  for (const [index, tag] of listOf(value["tags"]).entries()) {
    if (isTag(tag)) tags.push(tag);
    else ignored.push(`${path}.tags[${index}]`);
  }
  const pullSecrets = part("pullSecrets", isSecretList);
  const sandboxConfig = part("sandboxConfig", isSandboxConfig);
  return {
    tags,
    ...(pullSecrets === undefined ? {} : { pullSecrets }),
    ...(sandboxConfig === undefined ? {} : { sandboxConfig }),
  };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isTag(value: unknown): value is TagSpec {
  if (!isJsonObject(value)) return false;
  const { tag, version, createdAt, imagePullPolicy, ownerReferences, pullPolicy } = value;
  return (
    typeof tag === "string" &&
    tag !== "" &&
    isOptional(version, Number.isSafeInteger) &&
    isOptional(createdAt, isText) &&
    isOptional(imagePullPolicy, isText) &&
    isOptional(ownerReferences, (owners) => Array.isArray(owners) && owners.every(isJsonObject)) &&
    isOptional(
      pullPolicy,
      (policy) =>
        isJsonObject(policy) && Object.values(policy).every((one) => isOptional(one, Number.isFinite)),
    )
  );
}

function isSecretList(value: unknown): value is NonNullable<ImageSpec["pullSecrets"]> {
  return (
    Array.isArray(value) &&
    value.every((one) => isJsonObject(one) && isText(one["namespace"]) && isText(one["name"]))
  );
}

function isSandboxConfig(value: unknown): value is NonNullable<ImageSpec["sandboxConfig"]> {
  return (
    isJsonObject(value) && isOptional(value["labels"], isTexts) && isOptional(value["annotations"], isTexts)
  );
}

function isTexts(value: unknown): boolean {
  return isJsonObject(value) && Object.values(value).every(isText);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isOptional(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === undefined || value === null || is(value);
}
