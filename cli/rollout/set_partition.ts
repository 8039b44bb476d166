import { textFlag } from "../arguments.ts";
import type { Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { dryRunFlag, outputFlag } from "../global_flags.ts";
import { pluralName } from "../resource_types.ts";
import { dryRunOf, printResult } from "../result.ts";
import { oneTarget, readTarget } from "../target.ts";
import { changeObject, setOperations } from "../write.ts";
import { amountOf, ended } from "./partition.ts";
import { workloadOf } from "./workloads.ts";

export const rolloutPartition: Command = {
  name: "rollout partition",
  summary: "Set how many pods stay at the old revision: raise the partition, or lower it.",
  usage: "TYPE/NAME --to N|N% [--dry-run]",
  details: `The partition holds back pods that are not updated yet; raising it is no undo. It can be set while the rollout is paused.
A UnitedDeployment has a partition for each subset, which this does not set.
The write fails when somebody changed the object in the meantime.`,
  examples: [
    "refit rollout partition clone/sample --to 80%",
    "refit rollout partition asts/web --to 3 --dry-run",
  ],
  flags: {
    to: textFlag("N|N%", "Pods that stay at the old revision; 0 lets all be updated."),
    ...dryRunFlag,
    ...outputFlag,
  },
  async run(call) {
    const given = call.flags.text("to");
    if (given === undefined)
      throw new CliError("give --to N or --to N%: how many pods stay at the old revision");
    const amount = amountOf(given, "to", 0);
    const target = await oneTarget(call);
    const { partition: partitionOf } = workloadOf(target.type, "setting a partition");
    const subject = `${pluralName(target.type)} "${target.ref.name}"`;
    if (partitionOf === undefined)
      throw new CliError(
        `${subject}: setting a partition is not supported: the kind has no partition of its own`,
      );
    const access = await call.cluster();
    const object = await readTarget(access, target);
    const partition = partitionOf(object);
    const next = ended(partition, amount);
    if (next === partition.value) throw new CliError(`${subject}: the partition is ${next} already`);
    const dryRun = dryRunOf(call);
    const operations = setOperations(object, partition.path, next);
    const written = await changeObject(access, target, object, { operations, dryRun });
    printResult(call, target.type, written, `partition ${partition.value} -> ${next}`, dryRun);
    return 0;
  },
};
