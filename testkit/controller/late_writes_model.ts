/**
 * Writes of pods that are under way for long, as plans see them: answered in any order, refused, their events ahead of
 * their answer, or their answer lost. For tests.
 */
import type { Action } from "../../controller/rollout/writes/actions.ts";
import { PendingPods } from "../../controller/rollout/writes/pending_pods.ts";
import type { Pod } from "../../kube/index.ts";

type Perform = (action: Action) => void;

interface Write {
  readonly action: Action;
  /** The server has carried it out: only its answer is still to come. */
  arrived: boolean;
}

/** Whether plans see the write of an action while it is under way. */
export function isPodWrite({ type }: Action): boolean {
  return type === "create pod" || type === "patch pod" || type === "delete pod";
}

export class LateWrites {
  readonly pods = new PendingPods();
  readonly #writes = new Map<string, Write>();
  /** Nobody waits for these any more, and the server has yet to carry them out. */
  readonly #lost: Action[] = [];

  get size(): number {
    return this.#writes.size;
  }

  /** Of actions that write no pod nothing is kept. A second write of one pod is an error. */
  begin(action: Action, now: number): void {
    if (action.type === "delete pod")
      this.#begin(action.after.uid, action, { ...action.after, deletionAt: now });
    else if (action.type === "create pod" || action.type === "patch pod")
      this.#begin(action.after.uid, action, action.after);
  }

  #begin(id: string, action: Action, after: Pod): void {
    if (this.#writes.has(id)) throw new Error(`${after.name} is written twice`);
    this.#writes.set(id, { action, arrived: false });
    this.pods.set(id, after);
  }

  /** The server carries the write out, and shows what it did before it answers. `which`: place among those under way. */
  arrive(which: number, perform: Perform): void {
    const write = this.#at(which);
    if (write === undefined || write[1].arrived) return;
    write[1].arrived = true;
    perform(write[1].action);
  }

  /** The write is done, and answered. */
  answer(which: number, perform: Perform): void {
    const write = this.#end(which);
    if (write !== undefined && !write.arrived) perform(write.action);
  }

  /** The server refuses the write. One that has arrived is answered. */
  refuse(which: number): void {
    this.#end(which);
  }

  /** Time is over for the answer; what the server does with the write shows later. */
  lose(which: number): void {
    const write = this.#end(which);
    if (write !== undefined && !write.arrived) this.#lost.push(write.action);
  }

  /** The server gets to a write for which nobody waits any more. */
  arriveLate(perform: Perform): void {
    const action = this.#lost.shift();
    if (action !== undefined) perform(action);
  }

  /** The first `kept` are on their way to the server; all others are not sent any more. */
  withdraw(kept: number): void {
    for (const [index, [id, { arrived }]] of [...this.#writes].entries()) {
      if (index >= kept && !arrived) this.#forget(id);
    }
  }

  #at(which: number): [string, Write] | undefined {
    let left = which % Math.max(1, this.#writes.size);
    for (const entry of this.#writes) if (left-- === 0) return entry;
    return undefined;
  }

  #end(which: number): Write | undefined {
    const [id, write] = this.#at(which) ?? [];
    if (id !== undefined) this.#forget(id);
    return write;
  }

  #forget(id: string): void {
    this.#writes.delete(id);
    this.pods.delete(id);
  }
}
