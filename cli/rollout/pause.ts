import type { Call, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { at } from "../fields.ts";
import { outputFlag } from "../global_flags.ts";
import { inNamespace, objectName, pluralName } from "../resource_types.ts";
import { printResult } from "../result.ts";
import { readTarget, type Target, targetsOf } from "../target.ts";
import { changeObject, setOperations } from "../write.ts";
import { pausedPathOf } from "./workloads.ts";

const pausedKinds = `Of CloneSets, StatefulSets and DaemonSets of apps.kruise.io, SidecarSets and Deployments. AdvancedCronJobs,
BroadcastJobs and EphemeralJobs are paused by it, too: they begin nothing more until they are resumed.`;

export const rolloutPause: Command = {
  name: "rollout pause",
  summary: "Hold a rollout back; scaling and repair go on.",
  usage: "TYPE/NAME",
  details: pausedKinds,
  examples: ["refit rollout pause clone/sample", "refit rollout pause asts/web"],
  flags: outputFlag,
  run: (call) => setPaused(call, true),
};

export const rolloutResume: Command = {
  name: "rollout resume",
  summary: "Let a paused rollout go on.",
  usage: "TYPE/NAME",
  details: pausedKinds,
  examples: ["refit rollout resume clone/sample", "refit rollout resume asts/web"],
  flags: outputFlag,
  run: (call) => setPaused(call, false),
};

/** To be pasted. */
export function resumeCommand({ type, ref }: Target): string {
  return `refit rollout resume ${objectName(type, ref.name)}${inNamespace(ref.namespace)}`;
}

async function setPaused(call: Call, paused: boolean): Promise<number> {
  for (const target of await targetsOf(call)) await setPausedOf(call, target, paused);
  return 0;
}

async function setPausedOf(call: Call, target: Target, paused: boolean): Promise<void> {
  const verb = paused ? "pausing" : "resuming";
  const subject = `${pluralName(target.type)} "${target.ref.name}"`;
  if (pausedPathOf(target.type, undefined) === undefined)
    throw new CliError(`${subject} ${verb} is not supported: the kind has no field that pauses it`);
  const access = await call.cluster();
  const object = await readTarget(access, target);
  const path = pausedPathOf(target.type, object.apiVersion) ?? [];
  const isPaused = at(object, ...path) === true;
  if (isPaused === paused) throw new CliError(`${subject} ${paused ? "is already paused" : "is not paused"}`);
  const operations = setOperations(object, path, paused);
  const written = await changeObject(access, target, object, { operations, dryRun: "none" });
  printResult(call, target.type, written, paused ? "paused" : "resumed");
}
