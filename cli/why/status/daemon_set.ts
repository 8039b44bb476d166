/** A DaemonSet that no node asks for a pod of: its counts say that it is done, and there is nothing of it. */
import { type AnyObject, at, numberAt, textsAt } from "../../fields.ts";
import { objectName } from "../../resource_types.ts";
import type { Cause } from "../causes/cause.ts";
import type { Reader } from "../causes/reader.ts";
import { shownText } from "../causes/shown_text.ts";
import { showCommand } from "../patch_command.ts";
import { type StatusSource, statusSource } from "./status_source.ts";

export const daemonSetStatuses: readonly StatusSource[] = ["apps.kruise.io", "apps"].map((group) =>
  statusSource({
    group,
    kind: "DaemonSet",
    isLasting: false,
    read: async (reader, object) => (hasNoNode(object) ? await missingLabels(reader, object) : []),
    explain(object, labels) {
      if (!hasNoNode(object)) return { summary: "", causes: [] };
      return {
        summary: "no pods: no node is to have one",
        causes: [noNode(group, object, labels)],
        isDone: false,
      };
    },
  }),
);

/** Its controller has counted, and found none. */
function hasNoNode(object: AnyObject): boolean {
  const generation = numberAt(object, "metadata", "generation") ?? 0;
  return (
    numberAt(object, "status", "desiredNumberScheduled") === 0 &&
    (numberAt(object, "status", "observedGeneration") ?? 0) >= generation
  );
}

const nodeSelectorOf = (object: AnyObject) => textsAt(object, "spec", "template", "spec", "nodeSelector");

/** Labels that its pods ask for, and that no node has. */
async function missingLabels(reader: Reader, object: AnyObject): Promise<string[]> {
  const labels = Object.entries(nodeSelectorOf(object)).map(([key, value]) => `${key}=${value}`);
  const found = await Promise.all(
    labels.slice(0, mostLabels).map(async (labelSelector) => {
      for await (const page of reader.pages("", "Node", { labelSelector })) if (page.length > 0) return [];
      return [labelSelector];
    }),
  );
  // What may not be read is not missing.
  return reader.unread.some(({ rule }) => rule?.resource === "nodes") ? [] : found.flat();
}

const mostLabels = 8;

function noNode(group: string, object: AnyObject, missing: readonly string[]): Cause {
  const { name = "", namespace } = object.metadata;
  const named = { name: objectName({ group, kind: "DaemonSet" }, name), namespace };
  return {
    reason: "NoNode",
    message: `no node is to have a pod: ${whyNot(object, missing)}`,
    until: "a node fits, or the template asks for what nodes have",
    next: missing.length > 0 ? "kubectl get nodes --show-labels" : showCommand(named),
    outlook: "held",
  };
}

function whyNot(object: AnyObject, missing: readonly string[]): string {
  if (missing.length > 0) return `no node has label ${shownText(missing.join(", nor "))}`;
  const asks = [
    ...(Object.keys(nodeSelectorOf(object)).length > 0 ? ["its nodeSelector"] : []),
    ...(at(object, "spec", "template", "spec", "affinity") === undefined ? [] : ["its affinity"]),
  ];
  const fits = asks.length === 0 ? "" : `none fits ${asks.join(" and ")}, or `;
  return `${fits}the pods do not tolerate the taints of nodes`;
}
