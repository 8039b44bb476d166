/** Since when pods are held not ready for a request, by the agent's own clock: the condition has whole seconds. */
import type { ContainerRecreateRequest } from "../../crds/index.ts";
import { isDrained } from "./plan.ts";

export class HeldSince {
  /** By pod, `namespace/name`. */
  readonly #held = new Map<string, { readonly uid: string | undefined; readonly since: number }>();

  /** When this was first asked of a pod that is held, milliseconds since the Unix epoch; undefined while it is not. */
  of(podKey: string, request: ContainerRecreateRequest, now: number): number | undefined {
    if (!isDrained(request)) return undefined;
    const { uid } = request.metadata;
    const known = this.#held.get(podKey);
    if (known !== undefined && known.uid === uid) return known.since;
    this.#held.set(podKey, { uid, since: now });
    return now;
  }

  forget(podKey: string): void {
    this.#held.delete(podKey);
  }
}
