import type { Call, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { at } from "../fields.ts";
import { outputFlag } from "../global_flags.ts";
import { pluralName } from "../resource_types.ts";
import { printResult } from "../result.ts";
import { readTarget, type Target, targetsOf } from "../target.ts";
import { changeObject, setOperations } from "../write.ts";
import { workloadOf } from "./workloads.ts";

export const rolloutPause: Command = {
  name: "rollout pause",
  summary: "Hold a rollout back; scaling and repair go on.",
  usage: "TYPE/NAME",
  examples: ["refit rollout pause clone/sample"],
  flags: outputFlag,
  run: (call) => setPaused(call, true),
};

export const rolloutResume: Command = {
  name: "rollout resume",
  summary: "Let a paused rollout go on.",
  usage: "TYPE/NAME",
  examples: ["refit rollout resume clone/sample"],
  flags: outputFlag,
  run: (call) => setPaused(call, false),
};

async function setPaused(call: Call, paused: boolean): Promise<number> {
  for (const target of await targetsOf(call)) await setPausedOf(call, target, paused);
  return 0;
}

async function setPausedOf(call: Call, target: Target, paused: boolean): Promise<void> {
  const verb = paused ? "pausing" : "resuming";
  const workload = workloadOf(target.type, verb);
  const subject = `${pluralName(target.type)} "${target.ref.name}"`;
  if (workload.pausedPath === undefined || workload.pausedByUsers)
    throw new CliError(`${subject} ${verb} is not supported`);
  const access = await call.cluster();
  const object = await readTarget(access, target);
  const path = workload.pausedPath(object.apiVersion);
  const isPaused = at(object, ...path) === true;
  if (isPaused === paused) throw new CliError(`${subject} ${paused ? "is already paused" : "is not paused"}`);
  const operations = setOperations(object, path, paused);
  const written = await changeObject(access, target, object, { operations, dryRun: "none" });
  printResult(call, target.type, written, paused ? "paused" : "resumed");
}
