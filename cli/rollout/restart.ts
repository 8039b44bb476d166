import type { JsonPatchOperation } from "../../kube/index.ts";
import { causeOfCommand } from "../change_cause.ts";
import type { Call, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, listAt, textAt } from "../fields.ts";
import { outputFlag } from "../global_flags.ts";
import { podSpecPath } from "../objects/template.ts";
import { pluralName } from "../resource_types.ts";
import { printResult } from "../result.ts";
import { readTarget, type Target, targetsOf } from "../target.ts";
import { changeObject, pointer, setOperations } from "../write.ts";
import { isFrozen, type Workload, workloadOf } from "./workloads.ts";

const variable = "RESTARTED_AT";
const annotation = "kubectl.kubernetes.io/restartedAt";

export const rolloutRestart: Command = {
  name: "rollout restart",
  summary: "Replace all pods of a workload, within its budgets.",
  usage: "TYPE/NAME",
  details: `Kinds of apps.kruise.io get the variable ${variable} in every container, which always recreates the
pods; built-in kinds get the annotation that kubectl uses.`,
  examples: ["refit rollout restart clone/sample"],
  flags: outputFlag,
  async run(call) {
    for (const target of await targetsOf(call)) await restart(call, target);
    return 0;
  },
};

async function restart(call: Call, target: Target): Promise<void> {
  const workload = workloadOf(target.type, "restarting");
  if (workload.restart === undefined) {
    const subject = `${pluralName(target.type)} "${target.ref.name}"`;
    throw new CliError(
      `${subject} restarting is not supported: restart the workloads that its pods belong to`,
    );
  }
  const access = await call.cluster();
  const object = await readTarget(access, target);
  if (isFrozen(workload, object)) {
    throw new CliError(
      `can't restart paused ${pluralName(target.type)} "${target.ref.name}" (run rollout resume first)`,
    );
  }
  const now = `${new Date(call.host.clock.now()).toISOString().slice(0, 19)}Z`;
  const operations = [
    ...restartOperations(workload, object, now),
    ...causeOfCommand(object, call.commandLine),
  ];
  const written = await changeObject(access, target, object, { operations, dryRun: "none" });
  printResult(call, target.type, written, "restarted");
}

function restartOperations(workload: Workload, object: AnyObject, now: string): JsonPatchOperation[] {
  if (workload.restart === "annotation") {
    return setOperations(object, ["spec", "template", "metadata", "annotations", annotation], now);
  }
  const base = podSpecPath(object) ?? [];
  const containers = listAt(object, ...base, "containers");
  return containers.map((container, index) => {
    const env = listAt(container, "env").filter((entry) => textAt(entry, "name") !== variable);
    const path = pointer([...base, "containers", index, "env"]);
    return { op: "add", path, value: [...env, { name: variable, value: now }] };
  });
}
