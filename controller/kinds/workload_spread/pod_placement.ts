/** What admission of pods has of WorkloadSpreads: the place of a new pod, and the record of one that goes. Spec: workloadspread 4.1, 4.2. */
import {
  matchedWorkloadSpreadAnnotation,
  spreadGroupsOf,
  type WorkloadIdentity,
  type WorkloadSpread,
} from "../../../crds/index.ts";
import type { JsonObject, Labels } from "../../../kube/core/index.ts";
import { type Cache, isKubeError } from "../../../kube/index.ts";
import { objectAt, textAt, textsAt } from "../../native/json_fields.ts";
import { controllerIn } from "../../native/owners.ts";
import { workloadSpreadResource } from "../../plan/resources.ts";
import { ordinalIn } from "../../rollout/pods/numbered_names.ts";
import type { PodAdmissionDeps } from "../../runtime/admission/pod_admission.ts";
import { namespaceIndex } from "../../runtime/informers.ts";
import type { ControllerOptions } from "../../runtime/options.ts";
import { costWithinCap, hasCosts } from "./costs.ts";
import { injectSubset, matchOf } from "./inject.ts";
import { isUnlimited, subsetOfOrdinal } from "./ledger.ts";
import { Ledgers } from "./ledgers.ts";
import { isPlaced, matchingSpread } from "./match.ts";
import { versionOf } from "./versions.ts";
import { Whitelist } from "./whitelist.ts";
import { findWorkload, ownerOf, UNKNOWN_SIZE } from "./workload_lookup.ts";

export interface PodPlacementDeps
  extends Pick<PodAdmissionDeps, "client" | "writesFor" | "clock" | "random" | "informers"> {
  readonly options: Pick<ControllerOptions, "systemNamespace">;
}

/** A pod as admission sees it. */
interface AdmittedPod {
  /** Of the request: the same where the server asks twice, as the first answer was lost. */
  readonly requestUid: string;
  readonly namespace: string;
  /** Empty while the server has yet to make it. */
  readonly name: string;
  readonly labels: Labels;
  readonly owner: WorkloadIdentity;
}

interface Place {
  readonly spread: WorkloadSpread;
  readonly subset: string;
  /** Under which the ledger knows a pod without a name. */
  readonly uid?: string;
}

export class PodPlacement {
  readonly #deps: PodPlacementDeps;
  readonly #spreads: Cache<WorkloadSpread>;
  readonly #whitelist: Whitelist;
  readonly #ledgers: Ledgers;

  constructor(deps: PodPlacementDeps) {
    const { client, informers, options } = deps;
    this.#deps = deps;
    this.#spreads = informers.cacheOf(workloadSpreadResource, namespaceIndex);
    this.#whitelist = new Whitelist({ ...deps, systemNamespace: options.systemNamespace });
    this.#ledgers = new Ledgers({
      ...deps,
      spreads: this.#spreads,
      sizeOf: async (spread) => {
        const found = await findWorkload(client, spread, await this.#whitelist.kinds());
        return found?.size ?? UNKNOWN_SIZE;
      },
    });
  }

  /**
   * A copy of the pod as its subset makes it; undefined for a pod that no subset takes. Throws where the
   * owners of the pod are not known, where its place cannot be stored and where the subset's patch does not fit.
   */
  async place(pod: JsonObject, namespace: string, requestUid: string): Promise<JsonObject | undefined> {
    const metadata = objectAt(pod, "metadata");
    const owner = controllerIn(metadata);
    if (owner === undefined) return undefined;
    await this.#deps.informers.caughtUp();
    const admitted = {
      namespace,
      requestUid,
      name: textAt(metadata, "name"),
      labels: textsAt(metadata, "labels"),
      owner,
    };
    const place = await this.#placeOf(admitted);
    if (place === undefined) return undefined;
    const { metadata: named, spec } = place.spread;
    const index = spec.subsets.findIndex(({ name }) => name === place.subset);
    const subset = spec.subsets[index];
    if (subset === undefined) return undefined;
    const { uid } = place;
    const match = { name: named.name ?? "", subset: subset.name, ...(uid === undefined ? {} : { uid }) };
    // Of the latest version, as new pods are but for a few while a workload is rolled out: those a pass corrects.
    const cost = hasCosts(spec.targetRef.kind) ? costWithinCap(index, spec.subsets.length) : undefined;
    return injectSubset(pod, subset, match, cost);
  }

  /** Records that a pod goes. Throws KubeError. */
  async leave(pod: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly labels: Labels;
    readonly annotations: Labels;
    readonly controller?: { readonly kind: string } | undefined;
  }): Promise<void> {
    const match = matchOf(pod.annotations[matchedWorkloadSpreadAnnotation]);
    if (match === undefined || pod.controller === undefined) return;
    await this.#deps.informers.caughtUp();
    const spread = this.#spreads.get(`${pod.namespace}/${match.name}`);
    if (spread === undefined || spread.metadata.deletionTimestamp !== undefined) return;
    if (spread.spec.targetRef.kind === "StatefulSet" || isUnlimited(spread, match.subset)) return;
    const version = versionOf(pod.controller.kind, pod.labels);
    const { name, uid } = pod;
    await this.#ledgers.record(spread, { type: "deletion", version, pod: name, uid, subset: match.subset });
  }

  /** Whether there are objects in the namespace: where there are none, nothing has to be asked about its pods. */
  async isUsed(namespace: string): Promise<boolean> {
    await this.#deps.informers.caughtUp();
    return this.#inNamespace(namespace).length > 0;
  }

  async #placeOf(pod: AdmittedPod): Promise<Place | undefined> {
    const spread = await this.#spreadOf(pod);
    if (spread === undefined) return undefined;
    const { subsets, targetRef } = spread.spec;
    const [first] = subsets;
    // Nothing to decide, and nothing to count.
    if (first !== undefined && subsets.length === 1 && first.maxReplicas === undefined)
      return { spread, subset: first.name };
    if (targetRef.kind === "StatefulSet") {
      const ordinal = ordinalIn(pod.name);
      const subset = ordinal === undefined ? undefined : subsetOfOrdinal(spread, ordinal);
      return subset === undefined ? undefined : { spread, subset };
    }
    const version = versionOf(pod.owner.kind, pod.labels);
    const key = pod.name === "" ? pod.requestUid : pod.name;
    const subset = await this.#ledgers.record(spread, { type: "creation", version, key });
    // The subset may be another one of the newest object, which is in the cache by now.
    const newest = this.#spreads.get(`${pod.namespace}/${spread.metadata.name ?? ""}`) ?? spread;
    if (subset === undefined) return undefined;
    return { spread: newest, subset, ...(pod.name === "" ? { uid: key } : {}) };
  }

  async #spreadOf({ namespace, owner, labels }: AdmittedPod): Promise<WorkloadSpread | undefined> {
    const spreads = this.#inNamespace(namespace);
    if (spreads.length === 0) return undefined;
    const { client } = this.#deps;
    const whitelist = () => this.#whitelist.kinds();
    return matchingSpread(spreads, namespace, owner, labels, {
      whitelist,
      ownerOf: async (within, object) => {
        const above = await ownerOf(client, within, object).catch((error: unknown) => {
          if (isKubeError(error, "NotFound")) throw error;
          // Whoever is above cannot be found out: the pod is of none of those.
          return undefined;
        });
        if (above === undefined) return undefined;
        const isKnown = spreadGroupsOf(above.kind)?.includes(above.group) === true;
        return isKnown || isPlaced(above, await whitelist()) ? above : undefined;
      },
    });
  }

  /** By name, so that of several that match the same one is taken every time. */
  #inNamespace(namespace: string): WorkloadSpread[] {
    return [...this.#spreads.byIndex("namespace", namespace)]
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .sort((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
  }
}
