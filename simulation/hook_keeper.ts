/** Somebody whom pods wait for: takes the label of a hook off late, and puts it on again after an update. */
import type { StoredObject } from "../sandbox/index.ts";
import { heldLabel } from "./applied.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { stateLabel } from "./observer/fields.ts";

const wanted: Readonly<Record<string, string>> = {
  PreparingDelete: "false",
  PreparingUpdate: "false",
  Updated: "true",
};

/** Acts on each pod `lateMs` after it was asked to, and once more where that was refused. */
export function keepHooks(cluster: SimulatedCluster, lateMs: number): void {
  const busy = new Set<string>();
  const keep = ({ metadata }: StoredObject): void => {
    const { uid = "", namespace = "", name = "" } = metadata;
    const value = valueFor(metadata.labels);
    if (value === undefined || metadata.deletionTimestamp !== undefined || busy.has(uid)) return;
    busy.add(uid);
    cluster.clock.after(lateMs, async () => {
      const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
      const patch = { metadata: { uid, labels: { [heldLabel]: value } } };
      await cluster.ask("PATCH", path, patch, "application/merge-patch+json");
      busy.delete(uid);
      const now = cluster.server.cluster.get("pods", { namespace, name });
      if (now?.metadata.uid === uid) keep(now);
    });
  };
  cluster.server.cluster.subscribe("pods", ({ type, object }) => {
    if (type !== "DELETED") keep(object);
  });
}

/** What the label should be in this state of the pod; undefined where it is, or where nobody asked. */
function valueFor(labels: Readonly<Record<string, string>> = {}): string | undefined {
  const value = wanted[labels[stateLabel] ?? ""];
  return heldLabel in labels && labels[heldLabel] !== value ? value : undefined;
}
