/** What injection reads of the cluster: caches, and what is worked out once for each change of a SidecarSet. */
import type { SidecarSet } from "../../../../crds/index.ts";
import { jsonEqual, type Labels } from "../../../../kube/core/index.ts";
import {
  type Cache,
  type Change,
  type Client,
  controllerRevisionResource,
  isKubeError,
  namespaceResource,
} from "../../../../kube/index.ts";
import { sidecarSetResource } from "../../../plan/resources.ts";
import type { Informers } from "../../../runtime/informers.ts";
import {
  type CompiledSidecarSet,
  compileSidecarSet,
  matchingNamespace,
  SidecarSetOrder,
  withoutShadowed,
} from "./matching.ts";
import { PreparedSidecars } from "./sidecars.ts";
import { type RevisionSource, setsOfRevision } from "./version.ts";

export interface InjectionSource {
  /** The sets that a new pod is injected with, in their order. Waits until they are known. */
  setsFor(namespace: string, podLabels: Labels): Promise<readonly CompiledSidecarSet[]>;
  readonly revisions: RevisionSource;
  readonly prepared: PreparedSidecars;
}

export interface InjectionSourceDeps {
  client: Pick<Client, "get">;
  informers: Informers & { caughtUp(): Promise<void> };
  /** Where the revisions of SidecarSets are. */
  systemNamespace: string;
}

/** To be made before the watches begin. */
export function injectionSource({
  client,
  informers,
  systemNamespace,
}: InjectionSourceDeps): InjectionSource {
  const sets = new CompiledSidecarSets(informers.cacheOf(sidecarSetResource));
  const namespaces = informers.cacheOf(namespaceResource);
  const revisions = informers.cacheOf(
    controllerRevisionResource,
    { sidecarSet: setsOfRevision },
    { namespace: systemNamespace },
  );
  /** One that was created a moment ago may be missing in the cache, and its pods must not start without their sidecars. */
  const labelsOf = async (name: string): Promise<Labels | undefined> => {
    const held = namespaces.get(name);
    if (held !== undefined) return held.labels;
    try {
      return (await client.get(namespaceResource, { name })).labels;
    } catch (error) {
      if (isKubeError(error)) return undefined;
      throw error;
    }
  };
  return {
    async setsFor(namespace, podLabels) {
      await informers.caughtUp();
      const selecting = sets.selecting(namespace, podLabels);
      if (selecting.every(({ namespaceSelector }) => namespaceSelector === undefined))
        return withoutShadowed(selecting);
      return withoutShadowed(matchingNamespace(selecting, await labelsOf(namespace)));
    },
    revisions: {
      named: (name) => revisions.get(`${systemNamespace}/${name}`),
      ofSet: (set) => revisions.byIndex("sidecarSet", set),
    },
    prepared: new PreparedSidecars(),
  };
}

/** The sets of a cache, compiled when they change. */
class CompiledSidecarSets {
  readonly #compiled = new Map<string, CompiledSidecarSet>();
  #order: SidecarSetOrder | undefined;

  constructor(cache: Pick<Cache<SidecarSet>, "subscribe">) {
    cache.subscribe((change) => this.#take(change));
  }

  selecting(namespace: string, podLabels: Labels): readonly CompiledSidecarSet[] {
    this.#order ??= new SidecarSetOrder(this.#compiled.values());
    return this.#order.selecting(namespace, podLabels);
  }

  #take(change: Change<SidecarSet>): void {
    const { metadata } = change.object;
    const name = metadata.name ?? "";
    const known = this.#compiled.get(name);
    const next =
      change.type === "removed"
        ? undefined
        : change.type === "changed" && known !== undefined && isSameSpec(change.before, change.object)
          ? { ...known, set: change.object }
          : compileSidecarSet(change.object);
    if (next === undefined) this.#compiled.delete(name);
    else this.#compiled.set(name, next);
    this.#order = undefined;
  }
}

/** Of the status alone, which changes with every pod, nothing is compiled. */
function isSameSpec(before: SidecarSet, after: SidecarSet): boolean {
  const { generation, annotations } = after.metadata;
  return (
    generation !== undefined &&
    before.metadata.generation === generation &&
    jsonEqual(before.metadata.annotations, annotations)
  );
}
