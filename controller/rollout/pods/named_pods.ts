/** The pods of one workload by their own names, as a cache has them. */
import type { Pod } from "../../../kube/index.ts";
import type { StoredPods } from "./pod_index.ts";

export interface PodSource {
  pods(): Iterable<Pod>;
  /** The one of that name. */
  pod(name: string): Pod | undefined;
}

export class NamedPods implements StoredPods {
  readonly #source: PodSource;

  constructor(source: PodSource) {
    this.#source = source;
  }

  slotOf({ name }: Pod): string {
    return name;
  }

  at(name: string): readonly Pod[] {
    const pod = this.#source.pod(name);
    return pod === undefined ? [] : [pod];
  }

  *slots(): Generator<string> {
    for (const { name } of this.#source.pods()) yield name;
  }

  pods(): Iterable<Pod> {
    return this.#source.pods();
  }

  /** The cache has it already. */
  replace(): void {}
}
