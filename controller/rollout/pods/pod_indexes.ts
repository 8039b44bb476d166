/** The indexes of all workloads of a kind: each is made by its owner's first pass, and hears of every change from then on. */
import { type Cache, type Pod, sidesOf } from "../../../kube/index.ts";

interface Listening {
  podChanged(before: Pod | undefined, after: Pod | undefined): void;
}

export class PodIndexes<Index extends Listening> {
  readonly #byUid = new Map<string, { readonly generation: number; readonly index: Index }>();

  /** `adopters`: UIDs of the owners to which a pod without a controller may come. Default: none. */
  constructor(pods: Pick<Cache<Pod>, "subscribe">, adopters: (pod: Pod) => Iterable<string> = () => []) {
    pods.subscribe((change) => {
      const { before, after } = sidesOf(change);
      const concerned = new Set<string>();
      for (const pod of [before, after]) {
        if (pod?.controller !== undefined) concerned.add(pod.controller.uid);
        else if (pod !== undefined) for (const uid of adopters(pod)) concerned.add(uid);
      }
      for (const uid of concerned) this.get(uid)?.podChanged(before, after);
    });
  }

  /** Where a `generation` is given, another one has another index. */
  of(uid: string, make: () => Index, generation = 0): Index {
    const held = this.#byUid.get(uid);
    if (held?.generation === generation) return held.index;
    const index = make();
    this.#byUid.set(uid, { generation, index });
    return index;
  }

  get(uid: string): Index | undefined {
    return this.#byUid.get(uid)?.index;
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }
}
