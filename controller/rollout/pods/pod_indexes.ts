/** The indexes of all workloads of a kind: each is made by its owner's first pass, and hears of every change from then on. */
import { type Cache, type Pod, sidesOf } from "../../../kube/index.ts";
import { type OwnerKey, ownerKey } from "../../plan/owners.ts";

interface Listening {
  podChanged(before: Pod | undefined, after: Pod | undefined): void;
}

export class PodIndexes<Index extends Listening> {
  readonly #byOwner = new Map<OwnerKey, { readonly generation: number; readonly index: Index }>();

  /** `adopters`: the owners to which a pod without a controller may come. Default: none. */
  constructor(pods: Pick<Cache<Pod>, "subscribe">, adopters: (pod: Pod) => Iterable<OwnerKey> = () => []) {
    pods.subscribe((change) => {
      const { before, after } = sidesOf(change);
      const concerned = new Set<OwnerKey>();
      for (const pod of [before, after]) {
        if (pod?.controller !== undefined) concerned.add(ownerKey(pod.namespace, pod.controller.uid));
        else if (pod !== undefined) for (const owner of adopters(pod)) concerned.add(owner);
      }
      for (const owner of concerned) this.get(owner)?.podChanged(before, after);
    });
  }

  /** Where a `generation` is given, another one has another index. */
  of(owner: OwnerKey, make: () => Index, generation = 0): Index {
    const held = this.#byOwner.get(owner);
    if (held?.generation === generation) return held.index;
    const index = make();
    this.#byOwner.set(owner, { generation, index });
    return index;
  }

  get(owner: OwnerKey): Index | undefined {
    return this.#byOwner.get(owner)?.index;
  }

  forget(owner: OwnerKey): void {
    this.#byOwner.delete(owner);
  }
}
