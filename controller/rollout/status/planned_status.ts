/**
 * The status that was planned last and may not be stored yet. A plan whose decisions depend on its earlier ones (a
 * phase, a condition that ends the object) builds on this, so that nothing is decided and reported twice while a write is
 * under way. Lost with the process: the stored status is then what was decided.
 */
import { jsonEqual } from "../../../kube/core/index.ts";

export class PlannedStatus<S extends object> {
  readonly #planned = new Map<string, S>();

  /** What the next plan builds on: the stored status once it is the planned one. */
  before(uid: string, stored: S): S {
    const planned = this.#planned.get(uid);
    if (planned === undefined) return stored;
    if (!jsonEqual(planned, stored)) return planned;
    this.#planned.delete(uid);
    return stored;
  }

  planned(uid: string, status: S): void {
    this.#planned.set(uid, status);
  }

  forget(uid: string): void {
    this.#planned.delete(uid);
  }
}
