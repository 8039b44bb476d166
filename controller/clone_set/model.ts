/** The model cluster with one CloneSet. */
import type { CloneSet } from "../../crds/index.ts";
import { ClusterModel } from "../rollout/model.ts";
import { overlay } from "../rollout/overlay.ts";
import { PendingPods } from "../rollout/pending_pods.ts";
import { isAvailable } from "../rollout/pod_state.ts";
import type { CloneSetOptions, Seen } from "./observe.ts";
import { Roster } from "./roster.ts";

export { Refused } from "../rollout/model.ts";

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

  /** As the set's pods are now, with a roster made from nothing. */
  seen(roster = this.roster()): Seen {
    return {
      set: this.set,
      roster,
      claims: [...this.claims.values()],
      revisions: this.sortedRevisions(),
      revisionData: (name) => this.revisions.get(name)?.data,
      failures: {},
      nodeLabels: () => undefined,
      pullJobs: undefined,
    };
  }

  roster(inFlight = new PendingPods()): Roster {
    const { uid = "" } = this.set.metadata;
    return new Roster({
      uid,
      pods: () => this.owned(),
      pod: (name) => this.ownedPod(name),
      inFlight: () => inFlight,
      overlaid: () => overlay(this.owned(), inFlight).pods,
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
