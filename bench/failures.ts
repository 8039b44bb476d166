/** Which containers and pulls fail: drawn once for each pod and image, from the seed. */
import type { Clock, Random } from "../kube/index.ts";
import type { PodObject } from "../sandbox/index.ts";
import { imageOf, isReady } from "./measure/pod_state.ts";
import type { Failures } from "./timing.ts";

/** How long a pull goes on failing. */
const pullFailsMs = 2_000;
const crashAfterMs = 100;

export class FailureDraw {
  readonly #failures: Failures;
  readonly #random: Random;
  readonly #clock: Clock;
  /** Pod and image -> the time from which the pull succeeds, 0 for at once. */
  readonly #pulls = new Map<string, number>();
  /** Pods and images whose crash was drawn. */
  readonly #crashes = new Set<string>();

  constructor(failures: Failures, random: Random, clock: Clock) {
    this.#failures = failures;
    this.#random = random;
    this.#clock = clock;
  }

  pullFails(pod: PodObject, image: string): boolean {
    if (this.#failures.pull === 0) return false;
    const key = `${pod.metadata.uid} ${image}`;
    const now = this.#clock.now();
    let until = this.#pulls.get(key);
    if (until === undefined) {
      until = this.#random() < this.#failures.pull ? now + pullFailsMs : 0;
      this.#pulls.set(key, until);
    }
    return now < until;
  }

  /** The container that ends now although it should not; each pod and image is drawn once, when it is first ready. */
  crashOf(pod: PodObject): { container: string; afterMs: number } | undefined {
    if (this.#failures.crash === 0 || !isReady(pod)) return undefined;
    const key = `${pod.metadata.uid} ${imageOf(pod)}`;
    if (this.#crashes.has(key)) return undefined;
    this.#crashes.add(key);
    const container = pod.spec.containers[0]?.name;
    if (container === undefined || this.#random() >= this.#failures.crash) return undefined;
    return { container, afterMs: crashAfterMs };
  }
}
