/** The objects that a command line names: `TYPE NAME...` or `TYPE/NAME...`. */
import type { ObjectRef } from "../kube/core/index.ts";
import { isKubeError } from "../kube/index.ts";
import type { Call, ClusterAccess } from "./command.ts";
import { CliError } from "./errors.ts";
import type { AnyObject } from "./fields.ts";
import { objectName, objectResource, pluralName, type ResourceType } from "./resource_types.ts";

export interface Target {
  readonly type: ResourceType;
  readonly ref: ObjectRef & { readonly name: string };
}

/** All objects named by the words. Throws CliError when none or a malformed one is named. */
export async function targetsOf(call: Call, words: readonly string[] = call.words): Promise<Target[]> {
  const pairs = pairsOf(words);
  const { types, namespace } = await call.cluster();
  const targets: Target[] = [];
  for (const [typeName, name] of pairs) {
    const type = await types.find(typeName);
    targets.push({ type, ref: type.namespaced ? { namespace, name } : { name } });
  }
  return targets;
}

export async function oneTarget(call: Call, words: readonly string[] = call.words): Promise<Target> {
  const targets = await targetsOf(call, words);
  const [target] = targets;
  if (target === undefined || targets.length > 1) throw new CliError("name exactly one object, as TYPE/NAME");
  return target;
}

function pairsOf(words: readonly string[]): (readonly [string, string])[] {
  const [first, ...others] = words;
  if (first === undefined)
    throw new CliError("required resource not specified: name it as TYPE NAME or TYPE/NAME");
  if (first.includes("/")) {
    return words.map((word) => {
      const [type = "", name = "", ...more] = word.split("/");
      if (type === "" || name === "" || more.length > 0) {
        throw new CliError(`"${word}" names no object; write TYPE/NAME, such as cloneset/sample`);
      }
      return [type, name];
    });
  }
  if (others.length === 0) throw loneWord(first);
  return others.map((name) => {
    if (name.includes("/")) throw new CliError("write either TYPE NAME or TYPE/NAME, not both");
    return [first, name];
  });
}

function loneWord(word: string): CliError {
  return new CliError(
    `"${word}" alone names no object: write TYPE NAME or TYPE/NAME, such as cloneset/sample`,
  );
}

/** Reads the object; when it is missing, says where one of that name is. */
export async function readTarget(access: ClusterAccess, target: Target): Promise<AnyObject> {
  try {
    return await access.client.get(objectResource(target.type), target.ref);
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
    const namesake = await namesakeOf(access, target);
    if (namesake === undefined) throw error;
    const missing = `${pluralName(target.type)} "${target.ref.name}" not found`;
    throw new CliError(`${missing}; there is ${objectName(namesake, target.ref.name)}`, { cause: error });
  }
}

const namesakeGroups: Readonly<Record<string, string>> = { apps: "apps.kruise.io", "apps.kruise.io": "apps" };

async function namesakeOf(access: ClusterAccess, target: Target): Promise<ResourceType | undefined> {
  const group = namesakeGroups[target.type.group];
  if (group === undefined) return undefined;
  const type = await access.types.findKind(group, target.type.kind);
  if (type === undefined) return undefined;
  try {
    await access.client.get(objectResource(type), target.ref);
    return type;
  } catch {
    return undefined;
  }
}
