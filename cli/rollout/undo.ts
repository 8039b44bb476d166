import type { JsonPatchOperation } from "../../kube/index.ts";
import { textFlag } from "../arguments.ts";
import { restoredCause } from "../change_cause.ts";
import type { Call, ClusterAccess, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at, sameJson } from "../fields.ts";
import { dryRunFlag, outputFlag } from "../global_flags.ts";
import { dryRunOf, printResult } from "../result.ts";
import { oneTarget, readTarget, type Target } from "../target.ts";
import { changeObject, pointer } from "../write.ts";
import { type Revision, revisionNumbered, revisionsOf } from "./revisions.ts";
import { isFrozen, type Workload, workloadOf } from "./workloads.ts";

export const rolloutUndo: Command = {
  name: "rollout undo",
  summary: "Go back to a former revision's pod template, or sidecars.",
  usage: "TYPE/NAME [--to-revision N] [--dry-run]",
  details: `All that the revision holds is put back, so that nothing added since survives. The write fails when somebody
changed the object in the meantime.`,
  examples: ["refit rollout undo clone/sample", "refit rollout undo asts/web --to-revision 2"],
  flags: {
    "to-revision": textFlag("N", "Revision to go back to; 0 means the one before.", { default: "0" }),
    ...dryRunFlag,
    ...outputFlag,
  },
  async run(call) {
    const target = await oneTarget(call);
    const workload = workloadOf(target.type, "rollout undo");
    const access = await call.cluster();
    await undo(call, access, target, workload);
    return 0;
  },
};

async function undo(call: Call, access: ClusterAccess, target: Target, workload: Workload): Promise<void> {
  const object = await readTarget(access, target);
  if (isFrozen(workload, object)) {
    throw new CliError(
      `you cannot rollback a paused deployment; resume it first with "refit rollout resume"`,
    );
  }
  const wanted = call.flags.integer("to-revision", 0) ?? 0;
  const revision = choose(await revisionsOf(access, workload, object), wanted);
  const dryRun = dryRunOf(call);
  const revised = await workload.revised();
  if (sameJson(revised.now(object), revision.spec)) {
    printResult(
      call,
      target.type,
      object,
      `skipped rollback (current ${revised.noun} already matches revision ${revision.number})`,
    );
    return;
  }
  if (dryRun === "client" && call.flags.text("output") === undefined) {
    call.io.stdout.write(revised.text(revision.spec));
    return;
  }
  const written = await changeObject(access, target, object, {
    operations: [...restoringOperations(object, revision), ...restoredCause(object, revision.changeCause)],
    dryRun,
  });
  printResult(call, target.type, written, "rolled back", dryRun);
}

/** The revision asked for, or the one before the newest. */
function choose(revisions: readonly Revision[], wanted: number): Revision {
  if (wanted > 0) return revisionNumbered(revisions, wanted);
  const previous = revisions.at(-2);
  if (previous === undefined) throw new CliError("no last revision to roll back to");
  return previous;
}

function restoringOperations(object: AnyObject, { spec }: Revision): JsonPatchOperation[] {
  return Object.entries(spec).flatMap(([member, value]): JsonPatchOperation[] => {
    const path = pointer(["spec", member]);
    const isThere = at(object, "spec", member) !== undefined;
    if (value !== null) return [{ op: isThere ? "replace" : "add", path, value }];
    return isThere ? [{ op: "remove", path }] : [];
  });
}
