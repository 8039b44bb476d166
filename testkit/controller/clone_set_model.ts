/** The model cluster with one CloneSet. */

import { CloneIndex } from "../../controller/kinds/clone_set/classify.ts";
import type { CloneSetObserved } from "../../controller/kinds/clone_set/state.ts";
import type { CloneSetOptions } from "../../controller/kinds/clone_set/strategy.ts";
import { isAvailable } from "../../controller/rollout/pods/pod_state.ts";
import { mostCreations } from "../../controller/rollout/writes/creation_room.ts";
import { PendingPods } from "../../controller/rollout/writes/pending_pods.ts";
import type { CloneSet } from "../../crds/index.ts";
import { compileSelector } from "../../kube/core/index.ts";
import { ClusterModel } from "./cluster_model.ts";

export { Refused } from "./cluster_model.ts";

export const defaultOptions: CloneSetOptions = {
  shortHash: false,
  partitionRollback: false,
  preparingUpdateAsUpdate: false,
  recreateOnClaimChange: false,
  envFromMetadata: true,
  verticalScaling: false,
  resizeSubresource: true,
  resetsManagers: true,
  excludePreparingDelete: false,
  preDownload: false,
};

export class Model extends ClusterModel<CloneSet> {
  constructor(set: CloneSet) {
    super("CloneSet", set);
  }

  /** As the set's pods are now, with an index made from nothing. */
  observed(pods = this.index()): CloneSetObserved {
    return {
      set: this.set,
      selector: compileSelector(this.set.spec.selector),
      pods,
      claims: [...this.claims.values()],
      claimNamed: (name) => this.claims.get(name),
      podNamed: (name) => this.pods.get(name),
      revisions: this.sortedRevisions(),
      revisionData: (name) => this.revisions.get(name)?.data,
      failures: {},
      creationRoom: mostCreations,
      nodeLabels: () => undefined,
      pullJobs: undefined,
    };
  }

  index(inFlight = new PendingPods()): CloneIndex {
    return new CloneIndex({
      pods: () => this.owned(),
      pod: (name) => this.ownedPod(name),
      inFlight: () => inFlight,
    });
  }

  available(): number {
    return this.active().filter((pod) => isAvailable(pod, this.set.spec.minReadySeconds ?? 0, this.now))
      .length;
  }

  protected patchWorkload(): void {
    this.changeSpec((spec) => {
      delete spec.scaleStrategy?.podsToDelete;
    });
  }
}

export function cloneSet(name: string, spec: Partial<CloneSet["spec"]> = {}): CloneSet {
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "CloneSet",
    metadata: { name, namespace: "default", uid: `set-${name}`, generation: 1, resourceVersion: "1" },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: "main", image: "app:1" }] },
      },
      ...spec,
    },
  };
}
