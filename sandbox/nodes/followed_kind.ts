/** Kinds of the agents, which are there only while somebody has defined them. */
import { isConditionTrue } from "../../kube/core/index.ts";
import type { Cluster, ClusterChange } from "../cluster.ts";
import { objectsAt, textAt } from "../json.ts";

const definitions = "customresourcedefinitions.apiextensions.k8s.io";

/** Tells of the objects of a kind while it is served, first of those that are there. Returns the unsubscriber. */
export function followKind(
  cluster: Cluster,
  resource: string,
  onChange: (change: ClusterChange) => void,
): () => void {
  let end: (() => void) | undefined;
  const look = ({ type, object }: ClusterChange): void => {
    if (object.metadata.name !== resource) return;
    const conditions = objectsAt(object, "status", "conditions").map((condition) => ({
      type: textAt(condition, "type"),
      status: textAt(condition, "status"),
    }));
    if (type === "DELETED") {
      end?.();
      end = undefined;
    } else if (end === undefined && isConditionTrue(conditions, "Established")) {
      end = cluster.subscribe(resource, onChange);
      for (const present of cluster.list(resource)) onChange({ type: "ADDED", object: present });
    }
  };
  const unsubscribe = cluster.subscribe(definitions, look);
  for (const object of cluster.list(definitions)) look({ type: "ADDED", object });
  return () => {
    unsubscribe();
    end?.();
  };
}
