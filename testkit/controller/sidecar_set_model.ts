/** The model cluster with one SidecarSet, whose pods nobody controls. */

import { SidecarIndex } from "../../controller/kinds/sidecar_set/classify.ts";
import type { SidecarSetObserved } from "../../controller/kinds/sidecar_set/state.ts";
import { PendingPods } from "../../controller/rollout/writes/pending_pods.ts";
import {
  formatInjectedSidecars,
  formatWorkingContainers,
  hotUpgradeAltVersionPrefix,
  hotUpgradeVersionPrefix,
  injectedListAnnotation,
  type SidecarSet,
  sidecarSetHashAnnotation,
  sidecarSetHashWithoutImageAnnotation,
  workingHotUpgradeAnnotation,
  writtenHashes,
} from "../../crds/index.ts";
import { keyOf } from "../../kube/core/index.ts";
import type { Pod, PodContainer } from "../../kube/index.ts";
import { ClusterModel } from "./cluster_model.ts";
import { barePod } from "./pod_builder.ts";

export const everyNamespace = { has: () => true, version: 0 };

export class SidecarModel extends ClusterModel<SidecarSet> {
  #created = 0;

  constructor(set: SidecarSet) {
    super("SidecarSet", set);
  }

  override owned(): Pod[] {
    return [...this.pods.values()];
  }

  /** A pod with the present sidecars, as it is right after its creation. */
  inject(change: Partial<Pod> = {}): Pod {
    const name = `pod-${this.#created++}`;
    const pod = { ...injectedPod(this.set, name), createdAt: this.now, ...change };
    this.pods.set(name, pod);
    return pod;
  }

  index(inFlight = new PendingPods()): SidecarIndex {
    const byKey = (key: string) => [...this.pods.values()].find((pod) => keyOf(pod) === key);
    return new SidecarIndex({ pods: () => this.pods.values(), pod: byKey, inFlight: () => inFlight });
  }

  observed(pods = this.index()): SidecarSetObserved {
    return {
      set: this.set,
      pods,
      namespaces: everyNamespace,
      revisions: this.sortedRevisions(),
      revisionData: (name) => this.revisions.get(name)?.data,
    };
  }

  protected patchWorkload(): void {
    throw new Error("nothing patches a SidecarSet's spec");
  }
}

export function sidecarSetOf(spec: Partial<SidecarSet["spec"]> = {}): SidecarSet {
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "SidecarSet",
    metadata: { name: "set", uid: "uid-set", generation: 1, resourceVersion: "100" },
    spec: {
      selector: { matchLabels: { app: "app" } },
      containers: [{ name: "side", image: "side:1" }],
      updateStrategy: { type: "RollingUpdate", maxUnavailable: 1 },
      ...spec,
    },
  };
}

/** With the sidecars of the set beside a container `app`. */
export function injectedPod(set: SidecarSet, name: string): Pod {
  const { name: setName = "" } = set.metadata;
  const { hash, hashWithoutImage } = writtenHashes(set.metadata.annotations, set.spec);
  const entry = (hash: string) =>
    formatInjectedSidecars(
      new Map([[setName, { updateTimestamp: "", hash, sidecarSetName: setName, sidecarList: [] }]]),
    );
  const containers: PodContainer[] = [container("app", "app:1")];
  const working = new Map<string, string>();
  const versions: Record<string, string> = {};
  for (const { name, image = "", upgradeStrategy } of set.spec.containers ?? []) {
    if (upgradeStrategy?.upgradeType !== "HotUpgrade") {
      containers.push(container(name, image));
      continue;
    }
    const pair = [`${name}-1`, `${name}-2`] as const;
    containers.push(container(pair[0], image));
    containers.push(container(pair[1], upgradeStrategy.hotUpgradeEmptyImage ?? ""));
    working.set(name, pair[0]);
    for (const [index, one] of pair.entries()) {
      versions[hotUpgradeVersionPrefix + one] = String(1 - index);
      versions[hotUpgradeAltVersionPrefix + one] = String(index);
    }
  }
  return barePod(name, {
    labels: { app: "app" },
    annotations: {
      [injectedListAnnotation]: setName,
      [sidecarSetHashAnnotation]: entry(hash),
      [sidecarSetHashWithoutImageAnnotation]: entry(hashWithoutImage),
      ...(working.size > 0 ? { [workingHotUpgradeAnnotation]: formatWorkingContainers(working) } : {}),
      ...versions,
    },
    containers,
  });
}

function container(name: string, image: string): PodContainer {
  return { name, image, resources: {}, env: [], resizePolicy: {} };
}
