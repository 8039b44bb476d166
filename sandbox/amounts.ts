/** Resource amounts of pods and nodes as plain numbers: what the scheduler and resizes reckon with. */
import { quantityValue } from "../kube/core/index.ts";
import type { Container, PodObject } from "./objects/index.ts";

/** Resource name -> amount (cores, bytes, pieces). */
export type Amounts = Record<string, number>;

const rememberedTexts = 4_096;

export class Reckoner {
  readonly #values = new Map<string, number>();

  value(text: string | number): number {
    if (typeof text === "number") return text;
    const known = this.#values.get(text);
    if (known !== undefined) return known;
    if (this.#values.size >= rememberedTexts) this.#values.clear();
    const value = quantityValue(text);
    this.#values.set(text, value);
    return value;
  }

  list(list: Readonly<Record<string, string>> | undefined): Amounts {
    const amounts: Amounts = {};
    for (const name in list) amounts[name] = this.value(list[name] ?? "0");
    return amounts;
  }

  /**
   * What a pod asks of its node: the sum over containers and sidecars, or the most that init containers need at a
   * time, and the overhead. A limit without a request counts as the request.
   */
  ofPod(pod: PodObject): Amounts {
    const total: Amounts = {};
    for (const container of pod.spec.containers) add(total, this.#ofContainer(container));
    let sidecars: Amounts = {};
    const peak: Amounts = {};
    for (const container of pod.spec.initContainers ?? []) {
      const own = this.#ofContainer(container);
      if (container.restartPolicy === "Always") {
        sidecars = { ...sidecars };
        add(sidecars, own);
        add(total, own);
        raise(peak, sidecars);
      } else {
        const together = { ...sidecars };
        add(together, own);
        raise(peak, together);
      }
    }
    raise(total, peak);
    if (pod.spec.overhead) add(total, this.list(pod.spec.overhead));
    return total;
  }

  #ofContainer(container: Container): Amounts {
    const { limits, requests } = container.resources ?? {};
    if (!limits && !requests) return {};
    return { ...this.list(limits), ...this.list(requests) };
  }
}

export function add(total: Amounts, more: Amounts): void {
  for (const name in more) total[name] = (total[name] ?? 0) + (more[name] ?? 0);
}

export function subtract(total: Amounts, less: Amounts): void {
  for (const name in less) total[name] = (total[name] ?? 0) - (less[name] ?? 0);
}

function raise(total: Amounts, floor: Amounts): void {
  for (const name in floor) total[name] = Math.max(total[name] ?? 0, floor[name] ?? 0);
}
