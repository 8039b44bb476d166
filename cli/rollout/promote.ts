import { textFlag } from "../arguments.ts";
import type { Call, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at } from "../fields.ts";
import { dryRunFlag, outputFlag } from "../global_flags.ts";
import { pluralName } from "../resource_types.ts";
import { dryRunOf, printResult } from "../result.ts";
import { oneTarget, readTarget, type Target } from "../target.ts";
import { changeObject, setOperations } from "../write.ts";
import { amountOf, type Partition, type Promotion, promoted } from "./partition.ts";
import { resumeCommand } from "./pause.ts";
import { partitionsOf, pausedPathOf, type Workload, workloadOf } from "./workloads.ts";

export const rolloutPromote: Command = {
  name: "rollout promote",
  summary: "Let more pods be updated: lower the partition, by a step or to an end.",
  usage: "TYPE/NAME [--step N|N% | --to N|N%] [--dry-run]",
  details: `The partition is how many pods stay at the old revision. Without --step and --to it becomes 0: all pods are updated.
It is never raised (that is "refit rollout partition"), and a rollout that is paused is not promoted. Of a UnitedDeployment the partition of each subset is lowered.
The write fails when somebody changed the object in the meantime.`,
  examples: ["refit rollout promote clone/sample --step 20%", "refit rollout promote asts/web --to 3"],
  flags: {
    step: textFlag("N|N%", "Lower the partition by so many pods, or by a percentage of them."),
    to: textFlag("N|N%", "Lower the partition to this; 0 where neither flag is given."),
    ...dryRunFlag,
    ...outputFlag,
  },
  async run(call) {
    const promotion = promotionOf(call);
    const target = await oneTarget(call);
    const workload = workloadOf(target.type, "promoting");
    if (workload.partition === undefined && workload.subsetPartitions === undefined)
      throw new CliError(`${subjectOf(target)} promoting is not supported: the kind has no partition`);
    await promote(call, target, workload, promotion);
    return 0;
  },
};

function promotionOf({ flags }: Call): Promotion {
  const step = flags.text("step");
  const to = flags.text("to");
  if (step !== undefined && to !== undefined)
    throw new CliError(
      "give --step or --to, not both: --step lowers the partition by that much, --to to that",
    );
  return step === undefined
    ? { by: "to", amount: amountOf(to ?? "0", "to", 0) }
    : { by: "step", amount: amountOf(step, "step", 1) };
}

async function promote(call: Call, target: Target, workload: Workload, promotion: Promotion): Promise<void> {
  const access = await call.cluster();
  const object = await readTarget(access, target);
  refusePaused(target, object);
  const partitions = partitionsOf(workload, object) ?? [];
  if (partitions.length === 0)
    throw new CliError(
      `${subjectOf(target)} has no partition that keeps pods at the old revision: nothing to promote`,
    );
  const changes = partitions.map((partition) => ({ partition, next: nextOf(target, partition, promotion) }));
  const operations = changes.flatMap(({ partition, next }) => setOperations(object, partition.path, next));
  const dryRun = dryRunOf(call);
  const written = await changeObject(access, target, object, { operations, dryRun });
  const did = changes
    .map(({ partition: { label, value }, next }) => `${label} ${value} -> ${next}`)
    .join(", ");
  printResult(call, target.type, written, `promoted: ${did}`, dryRun);
}

function nextOf(target: Target, partition: Partition, promotion: Promotion): ReturnType<typeof promoted> {
  try {
    return promoted(partition, promotion);
  } catch (error) {
    if (error instanceof CliError)
      throw new CliError(`${subjectOf(target)}: ${error.message}`, { cause: error });
    throw error;
  }
}

function refusePaused(target: Target, object: AnyObject): void {
  const path = pausedPathOf(target.type, object.apiVersion);
  if (path === undefined || at(object, ...path) !== true) return;
  throw new CliError(`${subjectOf(target)} is paused; resume it first with "${resumeCommand(target)}"`);
}

const subjectOf = ({ type, ref }: Target): string => `${pluralName(type)} "${ref.name}"`;
