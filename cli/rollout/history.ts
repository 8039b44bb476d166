import { textFlag } from "../arguments.ts";
import type { Call, Command } from "../command.ts";
import { outputFlag } from "../global_flags.ts";
import { targetOrWorkload } from "../named_workload.ts";
import { objectName } from "../resource_types.ts";
import { outputFormat, renderObject, withoutManagedFields } from "../result.ts";
import { readTarget } from "../target.ts";
import { textTable } from "../text_table.ts";
import { revisionNumbered, revisionsOf } from "./revisions.ts";
import { workloadOf } from "./workloads.ts";

export const rolloutHistory: Command = {
  name: "rollout history",
  summary: "List former revisions, or show what one held.",
  usage: "TYPE/NAME|NAME [--revision N]",
  examples: ["refit rollout history clone/sample", "refit rollout history clone/sample --revision 3"],
  flags: {
    revision: textFlag("N", "Show the pod template, or the sidecars, of this revision."),
    ...outputFlag,
  },
  async run(call) {
    const target = await targetOrWorkload(call);
    const workload = workloadOf(target.type, "rollout history");
    const access = await call.cluster();
    const revisions = await revisionsOf(access, workload, await readTarget(access, target));
    const wanted = call.flags.integer("revision", 0) ?? 0;
    const name = objectName(target.type, target.ref.name);
    if (wanted > 0) {
      const revision = revisionNumbered(revisions, wanted);
      if (printAs(call, [revision.object])) return 0;
      call.print(`${name} with revision #${wanted}`);
      call.io.stdout.write((await workload.revised()).text(revision.spec));
      return 0;
    }
    const objects = revisions.map((revision) => revision.object);
    if (printAs(call, objects)) return 0;
    call.print(name);
    if (revisions.length === 0) {
      call.print("No rollout history found.");
      return 0;
    }
    const { images } = await workload.revised();
    const rows = revisions.map(({ number, changeCause = "<none>", spec }) => [
      String(number),
      changeCause,
      images(spec).join(",") || "<none>",
    ]);
    // kubectl puts two spaces after the number, not three.
    for (const line of textTable(["REVISION", "CHANGE-CAUSE", "IMAGES"], rows)) {
      call.print(line.replace(/^(\S+ *?) {3}(?=\S)/, "$1  "));
    }
    call.print();
    return 0;
  },
};

function printAs(call: Call, objects: Parameters<typeof withoutManagedFields>[0][]): boolean {
  const format = outputFormat(call);
  if (format === undefined) return false;
  if (format === "name") {
    for (const object of objects)
      call.print(`${(object.kind ?? "").toLowerCase()}.apps/${object.metadata.name ?? ""}`);
    return true;
  }
  const items = objects.map(withoutManagedFields);
  const [only] = items;
  const isOne = items.length === 1 && only !== undefined;
  call.io.stdout.write(renderObject(isOne ? only : { apiVersion: "v1", kind: "List", items }, format));
  return true;
}
