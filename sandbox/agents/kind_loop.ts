/** Loops of the simulated agents: each follows a kind of object while somebody has defined it. */

import { type Condition, isConditionTrue, type Random } from "../../kube/core/index.ts";
import { type Agenda, createAgenda, type Next } from "../agenda.ts";
import type { Cluster, ClusterChange, StoredObject } from "../cluster.ts";
import { follow, type LoopOptions } from "../cluster_loop.ts";
import type { EventWriter } from "../events.ts";
import type { HollowNodes } from "../nodes/hollow_nodes.ts";

/** What the agents work with. */
export interface AgentParts extends LoopOptions {
  readonly random: Random;
  readonly events: EventWriter;
  readonly nodes: HollowNodes;
}

export type KindLoop = Pick<Agenda, "add" | "stop">;

const definitions = "customresourcedefinitions.apiextensions.k8s.io";

/** `changed` is called with the objects of the kind while it is served, first with those that are there; `work` with each key. */
export function startKindLoop(
  { cluster, clock, onError }: AgentParts,
  resource: string,
  changed: (change: ClusterChange, agenda: Agenda) => void,
  work: (key: string) => Next,
): KindLoop {
  const agenda = createAgenda({ clock, onError, run: work });
  let end: (() => void) | undefined;
  const look = ({ type, object }: ClusterChange): void => {
    if (object.metadata.name !== resource) return;
    if (type === "DELETED") {
      end?.();
      end = undefined;
    } else if (end === undefined && isEstablished(object)) {
      end = follow(cluster, resource, (change) => changed(change, agenda));
    }
  };
  const unsubscribe = follow(cluster, definitions, look);
  return {
    add: (key, afterMs) => agenda.add(key, afterMs),
    stop() {
      unsubscribe();
      end?.();
      agenda.stop();
    },
  };
}

function isEstablished({ status }: StoredObject & { status?: { conditions?: Condition[] } }): boolean {
  return isConditionTrue(status?.conditions, "Established");
}

/** Unless another object has taken the name. */
export function writeStatus(
  cluster: Cluster,
  resource: string,
  { metadata }: StoredObject,
  status: object,
): void {
  const { namespace = "", name = "", uid } = metadata;
  cluster.update(resource, { namespace, name }, (draft) => {
    if (draft.metadata.uid === uid) draft["status"] = status;
  });
}
