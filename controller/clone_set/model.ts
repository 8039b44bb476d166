/** The model cluster with one CloneSet. */
import type { CloneSet } from "../../crds/index.ts";
import { ClusterModel } from "../rollout/model.ts";
import { isAvailable } from "../rollout/pod_state.ts";
import type { CloneSetOptions, Seen } from "./observe.ts";

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

  seen(busy: ReadonlySet<string> = new Set()): Seen {
    const pods = this.owned();
    return {
      set: this.set,
      pods,
      stored: pods,
      busy,
      claims: [...this.claims.values()],
      revisions: this.sortedRevisions(),
      revisionData: (name) => this.revisions.get(name)?.data,
      failures: {},
      nodeLabels: () => undefined,
      pullJobs: undefined,
    };
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
