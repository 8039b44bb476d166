/** A workload of which only the name is given; for commands that read: what is changed is named in full. */
import { isKubeError } from "../kube/index.ts";
import type { Call, ClusterAccess } from "./command.ts";
import { CliError } from "./errors.ts";
import { objectName, objectResource, type ResourceType } from "./resource_types.ts";
import { workloads } from "./rollout/workloads.ts";
import { oneTarget, type Target } from "./target.ts";

/** As oneTarget; a lone word that is no type is looked for among the names of workloads in the namespace. */
export async function targetOrWorkload(call: Call): Promise<Target> {
  const [word] = call.words;
  if (word === undefined || call.words.length > 1 || word.includes("/")) return oneTarget(call);
  const access = await call.cluster();
  if (await isTypeName(access, word)) return oneTarget(call);
  return workloadNamedOnly(call, access, word);
}

export async function isTypeName({ types }: ClusterAccess, word: string): Promise<boolean> {
  return (await types.lookUp(word)) !== undefined;
}

async function workloadNamedOnly(call: Call, access: ClusterAccess, name: string): Promise<Target> {
  const [found, ...others] = await namesakes(access, name);
  if (found === undefined) throw await noneNamed(access, name);
  if (others.length > 0) throw severalNamed(name, [found, ...others]);
  call.warn(`"${name}" is taken for ${objectName(found.type, name)}.`);
  return found;
}

/** In the order of the list of workloads. */
async function namesakes(access: ClusterAccess, name: string): Promise<Target[]> {
  const types = await Promise.all(workloads.map(({ group, kind }) => access.types.findKind(group, kind)));
  const served = types.filter((type) => type !== undefined);
  const found = await Promise.all(served.map((type) => existing(access, type, name)));
  return found.filter((target) => target !== undefined);
}

async function existing(
  { client, namespace }: ClusterAccess,
  type: ResourceType,
  name: string,
): Promise<Target | undefined> {
  const ref = type.namespaced ? { namespace, name } : { name };
  try {
    await client.get(objectResource(type), ref);
    return { type, ref };
  } catch (error) {
    if (isKubeError(error, "NotFound") || isKubeError(error, "Forbidden")) return undefined;
    throw error;
  }
}

function severalNamed(name: string, found: readonly Target[]): CliError {
  const written = found.map(({ type }) => objectName(type, name)).join(", ");
  return new CliError(`"${name}" names ${found.length} objects; write one of: ${written}`);
}

async function noneNamed({ types, namespace }: ClusterAccess, name: string): Promise<CliError> {
  const near = await types.nearest(name);
  const hint = near === undefined ? "" : `; did you mean the type "${near}"?`;
  return new CliError(
    `"${name}" is neither a resource type nor a workload in namespace ${namespace} that you may read; write TYPE/NAME, such as pod/${name}${hint}`,
  );
}
