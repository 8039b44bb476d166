/** Logs of all pods that labels tell, also of those that come later, until nothing can come any more. */
import type { Clock } from "../../kube/index.ts";
import type { Call, ClusterAccess } from "../command.ts";
import { textAt } from "../fields.ts";
import { follow, followList } from "../follow.ts";
import { objectResource } from "../resource_types.ts";
import type { Target } from "../target.ts";
import { FollowedPods, type FollowOptions } from "./followed_pods.ts";

const exitCodes = { done: 0, interrupted: 130 } as const;

/** Until Ctrl-C, or until the workload or job is over and its pods are read. Resolves to the exit code. */
export async function followLogs(
  call: Call,
  access: ClusterAccess,
  target: Target,
  labelSelector: string,
  options: FollowOptions,
): Promise<number> {
  const { clock } = call.host;
  const followed = new FollowedPods(call, access, options);
  const { signal } = followed;
  const pods = objectResource(await access.types.find("pods"));
  const list = { namespace: access.namespace, labelSelector };
  const atLast = async (): Promise<void> => {
    await untilOver(access, target, clock, signal);
    if (!signal.aborted) followed.updateLast((await access.client.list(pods, list)).items);
  };
  atLast().catch((error: unknown) => followed.fail(error));
  for await (const changed of followList(access.client, pods, list, clock, signal)) followed.update(changed);
  followed.ended();
  return call.io.signal.aborted ? exitCodes.interrupted : exitCodes.done;
}

async function untilOver(access: ClusterAccess, target: Target, clock: Clock, signal: AbortSignal) {
  for await (const object of follow(access, target, clock, signal))
    if (object === undefined || textAt(object, "status", "completionTime") !== undefined) return;
}
