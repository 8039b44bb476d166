/**
 * Writes of the ConfigMap whose keys hold a pod's containers back. The right to write ConfigMaps knows no names, so each
 * patch tells whose object it expects, and the server refuses it as a whole for any other: no look before the write is
 * needed, and none could be outdated.
 */
import { isKubeError, type JsonPatchOperation, type KubeErrorCode, type Pod } from "../../../kube/index.ts";
import { configMapResource } from "../../native/config_maps.ts";
import type { SharedDeps } from "../../runtime/kind.ts";
import { barrierName } from "./plan.ts";

export type Given =
  | "given"
  /** The ConfigMap was that of a former pod of the name. */
  | "taken over"
  /** It is not the pod's: nothing was written. */
  | "another's";

/** `fresh`: there most likely is none yet. One request unless something is odd. */
export async function giveKeys(
  { writesFor, signal }: Pick<SharedDeps, "writesFor" | "signal">,
  pod: Pod,
  keys: readonly string[],
  fresh: boolean,
): Promise<Given> {
  const { namespace } = pod;
  const writer = writesFor(pod);
  const options = { signal, flow: pod.uid, priority: "high" } as const;
  const create = () => writer.create(configMapResource, namespace, barrierOf(pod, keys), options);
  const patch = (body: readonly JsonPatchOperation[]) => () =>
    writer.patch(configMapResource, { namespace, name: barrierName(pod) }, { type: "json", body }, options);
  if (fresh && (await refusal(create, "AlreadyExists")) === undefined) return "given";
  const refused = await refusal(patch(addition(pod, keys)), "NotFound", "Invalid");
  if (refused === undefined) return "given";
  if (refused === "NotFound") {
    await create();
    return "given";
  }
  const isAnothers = (await refusal(patch(takeover(pod, keys)), "Invalid")) !== undefined;
  return isAnothers ? "another's" : "taken over";
}

/** The code of an expected refusal; others are thrown. */
async function refusal(
  write: () => Promise<unknown>,
  ...expected: readonly KubeErrorCode[]
): Promise<KubeErrorCode | undefined> {
  try {
    await write();
    return undefined;
  } catch (error) {
    if (!isKubeError(error, ...expected)) throw error;
    return error.code;
  }
}

const firstOwner = "/metadata/ownerReferences/0";

/** Of the pod's own: what others keep in it stays. */
function addition({ uid }: Pod, keys: readonly string[]): JsonPatchOperation[] {
  return [
    { op: "test", path: `${firstOwner}/uid`, value: uid },
    ...keys.map((key): JsonPatchOperation => ({ op: "add", path: `/data/${key}`, value: "true" })),
  ];
}

/** Of a former pod of this name: its keys would let everything start at once, and it only waits for its collection. */
function takeover(pod: Pod, keys: readonly string[]): JsonPatchOperation[] {
  return [
    { op: "test", path: `${firstOwner}/kind`, value: "Pod" },
    { op: "test", path: `${firstOwner}/name`, value: pod.name },
    { op: "replace", path: "/metadata/ownerReferences", value: [ownerOf(pod)] },
    { op: "add", path: "/data", value: dataOf(keys) },
  ];
}

function barrierOf(pod: Pod, keys: readonly string[]): object {
  const { namespace } = pod;
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: barrierName(pod), namespace, ownerReferences: [ownerOf(pod)] },
    data: dataOf(keys),
  };
}

function ownerOf({ name, uid }: Pod): object {
  return { apiVersion: "v1", kind: "Pod", name, uid };
}

function dataOf(keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(keys.map((key) => [key, "true"]));
}
