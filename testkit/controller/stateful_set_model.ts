/** The model cluster with one StatefulSet. */

import { SetIndex } from "../../controller/kinds/stateful_set/classify.ts";
import type { StatefulSetObserved } from "../../controller/kinds/stateful_set/state.ts";
import type { StatefulSetOptions } from "../../controller/kinds/stateful_set/strategy.ts";
import { mostCreations } from "../../controller/rollout/writes/creation_room.ts";
import { PendingPods } from "../../controller/rollout/writes/pending_pods.ts";
import type { StatefulSet } from "../../crds/index.ts";
import { compileSelector } from "../../kube/core/index.ts";
import type { Pod } from "../../kube/index.ts";
import { ClusterModel } from "./cluster_model.ts";

export { Refused } from "./cluster_model.ts";

export const defaultOptions: StatefulSetOptions = {
  preparingUpdateAsUpdate: false,
  envFromMetadata: true,
  verticalScaling: false,
  resizeSubresource: true,
  resetsManagers: true,
  startOrdinal: true,
  deletesClaims: true,
  resizesClaims: false,
  podIndexLabel: true,
  preDownload: false,
};

export class Model extends ClusterModel<StatefulSet> {
  constructor(set: StatefulSet) {
    super("StatefulSet", set);
  }

  /** As the set's pods are now, with an index made from nothing. */
  observed(pods = this.index()): StatefulSetObserved {
    return {
      set: this.set,
      selector: compileSelector(this.set.spec.selector),
      pods,
      podNamed: (pod) => this.pods.get(pod),
      claimNamed: (claim) => this.claims.get(claim),
      revisions: this.sortedRevisions(),
      revisionData: (revision) => this.revisions.get(revision)?.data,
      failures: {},
      isClaimWritten: () => false,
      creationRoom: mostCreations,
      pullJobs: undefined,
    };
  }

  index(inFlight = new PendingPods(), Kind = SetIndex): SetIndex {
    const { uid = "", name = "" } = this.set.metadata;
    const pods = () => this.pods.values();
    const pod = (name: string) => this.pods.get(name);
    return new Kind({ uid, name, pods, pod, inFlight: () => inFlight });
  }

  /** Puts a pod there as if somebody else had made it. */
  place(pod: Pod): void {
    this.pods.set(pod.name, pod);
  }

  protected patchWorkload(): void {
    throw new Error("a StatefulSet never changes its own spec");
  }
}

export function statefulSet(name: string, spec: Partial<StatefulSet["spec"]> = {}): StatefulSet {
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "StatefulSet",
    metadata: { name, namespace: "default", uid: `set-${name}`, generation: 1, resourceVersion: "1" },
    spec: {
      replicas: 3,
      serviceName: name,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          readinessGates: [{ conditionType: "InPlaceUpdateReady" }],
          containers: [{ name: "main", image: "app:1" }],
        },
      },
      ...spec,
    },
  };
}
