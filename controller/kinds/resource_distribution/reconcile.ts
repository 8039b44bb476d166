/** ResourceDistributions: looks at the namespaces that have changed, writes what the plan says. No policy lives here. */
import type { ResourceDistribution } from "../../../crds/index.ts";
import {
  type Cache,
  type Change,
  ignoreNotFound,
  isKubeError,
  KubeError,
  messageOf,
  type Namespace,
  namespaceResource,
  type Resource,
  sidesOf,
} from "../../../kube/index.ts";
import { earliest } from "../../plan/earliest.ts";
import type { KindEffect, Outcomes, WriteEffect } from "../../plan/effects.ts";
import { Backoff } from "../../runtime/executor/backoff.ts";
import { type Writable, writable } from "../../runtime/executor/writable.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler, Result } from "../../runtime/reconciler.ts";
import type { SelectionNeeds, SelectionReader } from "../../runtime/selected_objects.ts";
import { type Copy, copyResources } from "./copies.ts";
import { CopyIndex, type Outcome } from "./copy_index.ts";
import { copiesOf, copyIn, namespacesOf, observedNamespace, targetsIn } from "./observe.ts";
import {
  type FailureType,
  type ObservedNamespace,
  type ParsedDistribution,
  parseDistribution,
  planNamespace,
  type Source,
  type Write,
} from "./plan.ts";
import { planStatus } from "./status.ts";

/** Namespaces that are written to before what has changed meanwhile is looked at. */
const BATCH = 128;
/** A namespace that refuses is tried again after a pause that grows, milliseconds. */
const REFUSALS = { baseDelayMs: 1000, maxDelayMs: 300_000 };
/** Within this time the watch shows what was created, milliseconds; else it was deleted while nothing was watched. */
const SEEN_WITHIN_MS = 10_000;

const failureOf: Readonly<Record<Write["type"], FailureType>> = {
  create: "CreateResourceFailed",
  update: "UpdateResourceFailed",
  delete: "DeleteResourceFailed",
};

/** What is remembered of one distribution. */
interface Held {
  readonly index: CopyIndex;
  /** Of namespaces that refused. */
  readonly backoff: Backoff;
  readonly refusing: Set<string>;
  /** Where a write met another copy than the one that it was planned with. */
  readonly raced: Set<string>;
  /** When (monotonic) what was created in a namespace should have been seen. */
  readonly awaited: Map<string, number>;
}

/** A write that is under way in a namespace. */
interface Pending {
  readonly type: Write["type"];
  readonly target: boolean;
  /** It was planned with what was read after a race. */
  readonly isSecond: boolean;
}

/** What a read said about the copy in a namespace. */
interface Read {
  readonly copy?: Copy | undefined;
  readonly failed?: true;
}

type CopyNeeds = SelectionNeeds<Copy>;

export class ResourceDistributionReconciler implements Reconciler<ResourceDistribution> {
  readonly writes = { Secret: this.#writable("Secret"), ConfigMap: this.#writable("ConfigMap") };
  readonly #deps: KindDeps<ResourceDistribution>;
  readonly #namespaces: Cache<Namespace>;
  readonly #needs: Readonly<Record<Source["kind"], CopyNeeds>>;
  readonly #held = new Map<string, Held>();
  /** What the effects of a result are about. */
  readonly #pending = new WeakMap<object, { held: Held; pending: ReadonlyMap<string, Pending> }>();

  constructor(deps: KindDeps<ResourceDistribution>) {
    this.#deps = deps;
    this.#namespaces = deps.informers.cacheOf(namespaceResource);
    this.#namespaces.subscribe((change) => this.#onNamespace(change));
    const needsOf = (resource: Resource<Copy>): CopyNeeds =>
      deps.selectObjects(resource).needs((key, change) => this.#onCopy(key, change));
    this.#needs = { Secret: needsOf(copyResources.Secret), ConfigMap: needsOf(copyResources.ConfigMap) };
  }

  #writable(kind: Source["kind"]): Writable {
    return writable(copyResources[kind], {
      writeBack: (copy, key) => this.#needs[kind].held(key)?.[0]?.writeBack(copy),
    });
  }

  forget(key: string): void {
    for (const needs of Object.values(this.#needs)) needs.release(key);
    this.#held.delete(key);
  }

  async reconcile(object: ResourceDistribution, key: string): Promise<Result | undefined> {
    const { metadata } = object;
    if (metadata.deletionTimestamp !== undefined) {
      // The garbage collector takes the copies; none may come back meanwhile.
      this.forget(key);
      return undefined;
    }
    const known = this.#held.get(key);
    const isCurrent =
      known?.index.generation === (metadata.generation ?? 0) && known.index.wanted.uid === metadata.uid;
    const wanted = isCurrent ? known.index.wanted : parseDistribution(object);
    const copies = this.#copiesFor(key, wanted.source);
    if (copies === undefined) return this.#refused(key, object, wanted);
    const held = isCurrent ? known : this.#begin(key, object, wanted, copies);
    this.#retryDue(held, copies);
    const taken = held.index.take(BATCH);
    const reads = await this.#readAgain(held, copies, taken);
    const { clock, objects, queue, signal } = this.#deps;
    if (signal.aborted || !objects.holds(key, metadata.uid) || this.#held.get(key) !== held) return undefined;
    const pending = new Map<string, Pending>();
    const writes = taken.flatMap((name) => {
      const read = reads.get(name);
      if (read?.failed === true) return [];
      const copy = read === undefined ? copyIn(held.index.wanted, copies, name) : read.copy;
      return this.#planNamespace(held, { name, copy, isSecond: read !== undefined }, pending) ?? [];
    });
    if (held.index.hasWork) queue.add(key);
    const makes = writes.some(({ type }) => type === "create");
    const effects: readonly KindEffect[] = [
      ...(makes ? [{ type: "confirm object" } as const] : []),
      ...(writes.length === 0 ? [] : [{ type: "writes", pace: "at once", writes } as const]),
    ];
    if (writes.length > 0) this.#pending.set(effects, { held, pending });
    // What is being written counts in the pass that follows it.
    if (writes.length > 0 || !held.index.isComplete) return { effects };
    const { tally, generation } = held.index;
    const status = planStatus(tally, objects.get(key)?.status, generation, clock.now());
    return { status, size: tally.desired, requeueAfterMs: this.#nextLookMs(held) };
  }

  executed(key: string, { effects }: Result, { writes, error }: Outcomes): void {
    const written = effects && this.#pending.get(effects);
    if (written === undefined || this.#deps.signal.aborted) return;
    const { held, pending } = written;
    // Without an outcome nothing was sent: the object was not there, or nobody could say.
    const unsent = error ?? new KubeError("NotFound", "the ResourceDistribution is not there any more");
    for (const [name, one] of pending) {
      const outcome = writes.get(name);
      if (outcome !== undefined) this.#settle(held, name, one, outcome.error);
      else this.#failed(held, name, one, unsent);
    }
    this.#deps.queue.add(key);
  }

  /** While the copies may not be listed, nothing is known of any; undefined while they are being listed. */
  #refused(key: string, object: ResourceDistribution, wanted: ParsedDistribution): Result | undefined {
    const { source } = wanted;
    const refusal = "problem" in source ? undefined : this.#needs[source.kind].refusal(key);
    if (refusal === undefined) return undefined;
    const names = new Set([...targetsIn(wanted, this.#namespaces), ...wanted.targets.listed]);
    const reasons = new Map(Array.from(names, (name) => [name, messageOf(refusal)]));
    const failures = new Map([["GetResourceFailed", reasons] as const]);
    const tally = { desired: names.size, failed: names.size, failures };
    const generation = object.metadata.generation ?? 0;
    const status = planStatus(tally, object.status, generation, this.#deps.clock.now());
    return { status, size: names.size };
  }

  /** Objects of the copies' name in all namespaces; undefined while they are being listed, which enqueues the key. */
  #copiesFor(
    key: string,
    source: Source | { readonly problem: string },
  ): SelectionReader<Copy> | "none" | undefined {
    if ("problem" in source) return "none";
    return this.#needs[source.kind].need(key, [copiesOf(source)])?.[0];
  }

  #begin(
    key: string,
    { metadata }: ResourceDistribution,
    wanted: ParsedDistribution,
    copies: SelectionReader<Copy> | "none",
  ): Held {
    const held: Held = {
      index: new CopyIndex(wanted, metadata.generation ?? 0, namespacesOf(wanted, this.#namespaces, copies)),
      backoff: new Backoff({ clock: this.#deps.clock, ...REFUSALS }),
      refusing: new Set(),
      raced: new Set(),
      awaited: new Map(),
    };
    this.#held.set(key, held);
    return held;
  }

  #onNamespace(change: Change<Namespace>): void {
    const { before, after } = sidesOf(change);
    const { name } = change.object;
    const isSame =
      before?.deletionAt === after?.deletionAt &&
      JSON.stringify(before?.labels) === JSON.stringify(after?.labels);
    if (isSame) return;
    for (const [key, { index }] of this.#held) {
      if (!index.isAbout(name, before?.labels, after?.labels)) continue;
      index.touch(name);
      this.#deps.queue.add(key);
    }
  }

  /** `change` is absent when the copies have just become known. */
  #onCopy(key: string, change: Change<Copy> | undefined): void {
    const held = this.#held.get(key);
    if (change !== undefined && held !== undefined) {
      const { before, after } = sidesOf(change);
      const { namespace } = change.object;
      held.awaited.delete(namespace);
      // Our own writes come back.
      if (after !== undefined && held.index.isInPlace(namespace, after)) return;
      const isAbout = [before, after].some((copy) => copy && held.index.isAboutCopy(namespace, copy));
      if (!isAbout) return;
      held.index.touch(namespace);
    }
    this.#deps.queue.add(key);
  }

  /** What is to be written in the namespace; undefined where it is settled without. */
  #planNamespace(
    held: Held,
    { name, copy, isSecond }: Pick<ObservedNamespace, "name" | "copy"> & { readonly isSecond: boolean },
    pending: Map<string, Pending>,
  ): WriteEffect | undefined {
    const { wanted } = held.index;
    const { write, ...outcome } = planNamespace(wanted, observedNamespace(name, this.#namespaces, copy));
    if (write === undefined || "problem" in wanted.source) {
      this.#settled(held, name, outcome);
      return undefined;
    }
    pending.set(name, { type: write.type, target: outcome.target, isSecond });
    return writeIn(name, wanted.source, write);
  }

  #settle(held: Held, name: string, { type, target, isSecond }: Pending, error: unknown): void {
    const { clock } = this.#deps;
    if (error === undefined) {
      if (type === "create") held.awaited.set(name, clock.monotonic() + SEEN_WITHIN_MS);
      this.#settled(held, name, { target });
    } else if (isGoneNamespace(error)) {
      const reason = "namespace not found or is terminating";
      const failure = { type: "NamespaceNotExists", reason } as const;
      this.#settled(held, name, target ? { target, failure } : { target });
    } else if (!isSecond && isKubeError(error, "AlreadyExists", "Conflict", "NotFound")) {
      // What was planned with is not what is there: what is there is read, and planned with once more.
      held.raced.add(name);
      held.index.touch(name);
    } else {
      this.#failed(held, name, { type, target }, error);
    }
  }

  #failed(
    held: Held,
    name: string,
    { type, target }: Pick<Pending, "type" | "target">,
    error: unknown,
  ): void {
    this.#settled(
      held,
      name,
      { target, failure: { type: failureOf[type], reason: messageOf(error) } },
      error,
    );
  }

  /** `error`: what is worth another try. */
  #settled({ index, backoff, refusing }: Held, name: string, outcome: Outcome, error?: unknown): void {
    index.settle(name, outcome);
    if (error === undefined) {
      backoff.forget(name);
      refusing.delete(name);
    } else {
      backoff.failed(name, error);
      refusing.add(name);
    }
  }

  /** Copies that somebody else wrote at the same time, as the server has them. */
  async #readAgain(
    held: Held,
    copies: SelectionReader<Copy> | "none",
    names: readonly string[],
  ): Promise<ReadonlyMap<string, Read>> {
    const reads = new Map<string, Read>();
    const { source, uid, targets } = held.index.wanted;
    if ("problem" in source || copies === "none") return reads;
    const { client, signal } = this.#deps;
    const read = async (name: string): Promise<void> => {
      try {
        const ref = { namespace: name, name: source.name };
        const options = { flow: uid, signal };
        const copy = await client.get(copyResources[source.kind], ref, options).catch(ignoreNotFound);
        if (copy !== undefined) copies.writeBack(copy);
        reads.set(name, { copy });
      } catch (error) {
        reads.set(name, { failed: true });
        if (signal.aborted) return;
        const failure = { type: "GetResourceFailed", reason: messageOf(error) } as const;
        const target = targets.includes(name, this.#namespaces.get(name)?.labels);
        this.#settled(held, name, { target, failure }, error);
      }
    };
    await Promise.all(names.filter((name) => held.raced.delete(name)).map(read));
    return reads;
  }

  /** Namespaces whose pause is over, and those where a copy was created that nothing shows. */
  #retryDue({ index, backoff, refusing, awaited }: Held, copies: SelectionReader<Copy> | "none"): void {
    for (const name of refusing) if (backoff.leftMs(name) === 0) index.touch(name);
    const now = this.#deps.clock.monotonic();
    for (const [name, until] of awaited) {
      if (until > now && copyIn(index.wanted, copies, name) === undefined) continue;
      awaited.delete(name);
      if (until <= now) index.touch(name);
    }
  }

  #nextLookMs({ backoff, refusing, awaited }: Held): number | undefined {
    const now = this.#deps.clock.monotonic();
    let next: number | undefined;
    for (const name of refusing) next = earliest([next, Math.max(1, backoff.leftMs(name))]);
    for (const until of awaited.values()) next = earliest([next, Math.max(1, until - now)]);
    return next;
  }
}

function writeIn(namespace: string, { kind, name }: Source, write: Write): WriteEffect {
  // Of one namespace alone: the others go on.
  const common = {
    resource: kind,
    namespace,
    name,
    id: namespace,
    whenRaced: "retry",
    tolerated: true,
  } as const;
  switch (write.type) {
    case "create":
      return { ...common, type: "create", body: write.body };
    case "update":
      return { ...common, type: "patch", patch: { type: "merge", body: write.body } };
    case "delete": {
      const { uid, resourceVersion } = write.copy;
      return { ...common, type: "delete", uid, resourceVersion };
    }
  }
}

/** A creation that met a namespace which is gone or going. */
function isGoneNamespace(error: unknown): boolean {
  if (isKubeError(error, "NamespaceTerminating")) return true;
  return isKubeError(error, "NotFound") && error.about?.kind === "namespaces";
}
