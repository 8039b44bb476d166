/** ResourceDistributions: looks at the namespaces that have changed, writes what the plan says. No policy lives here. */
import type { ResourceDistribution } from "../../../crds/index.ts";
import { keyOf } from "../../../kube/core/index.ts";
import {
  type Cache,
  type Change,
  ignoreNotFound,
  isKubeError,
  messageOf,
  type Namespace,
  namespaceResource,
  type Resource,
  sidesOf,
} from "../../../kube/index.ts";
import { earliest } from "../../plan/earliest.ts";
import { Backoff } from "../../runtime/executor/backoff.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler, Result } from "../../runtime/reconciler.ts";
import type { HeldPods, PodNeeds } from "../../runtime/selected_pods.ts";
import { type Copy, copyResources } from "./copies.ts";
import { type Outcome, PlaceIndex } from "./place_index.ts";
import { type FailureType, planPlace, type Source, type Wanted, type Write, wantedOf } from "./plan.ts";
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
  readonly index: PlaceIndex;
  /** Of namespaces that refused. */
  readonly backoff: Backoff;
  readonly refusing: Set<string>;
  /** When (monotonic) what was created in a namespace should have been seen. */
  readonly awaited: Map<string, number>;
}

type CopyNeeds = PodNeeds<Copy>;

export class ResourceDistributionReconciler implements Reconciler<ResourceDistribution> {
  readonly #deps: KindDeps<ResourceDistribution>;
  readonly #namespaces: Cache<Namespace>;
  readonly #needs: Readonly<Record<Source["kind"], CopyNeeds>>;
  readonly #held = new Map<string, Held>();

  constructor(deps: KindDeps<ResourceDistribution>) {
    this.#deps = deps;
    this.#namespaces = deps.informers.cacheOf(namespaceResource);
    this.#namespaces.subscribe((change) => this.#onNamespace(change));
    const needsOf = (resource: Resource<Copy>): CopyNeeds =>
      deps.selectPods(resource).needs((key, change) => this.#onCopy(key, change));
    this.#needs = { Secret: needsOf(copyResources.Secret), ConfigMap: needsOf(copyResources.ConfigMap) };
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
    const wanted = isCurrent ? known.index.wanted : wantedOf(object);
    const copies = this.#copiesFor(key, wanted.source);
    if (copies === undefined) return this.#refused(key, object, wanted);
    const held = isCurrent ? known : this.#begin(key, object, wanted, copies);
    this.#retryDue(held, copies);
    const taken = held.index.take(BATCH);
    await Promise.all(taken.map((name) => this.#settle(held, copies, name)));
    const { clock, objects, queue, signal } = this.#deps;
    if (signal.aborted || !objects.holds(key, metadata.uid) || this.#held.get(key) !== held) return undefined;
    if (held.index.hasWork) queue.add(key);
    if (!held.index.isComplete) return undefined;
    const { tally, generation } = held.index;
    const status = planStatus(tally, objects.get(key)?.status, generation, clock.now());
    return { status, size: tally.desired, requeueAfterMs: this.#nextLookMs(held) };
  }

  /** While the copies may not be listed, nothing is known of any; undefined while they are being listed. */
  #refused(key: string, object: ResourceDistribution, wanted: Wanted): Result | undefined {
    const { source } = wanted;
    const refusal = "problem" in source ? undefined : this.#needs[source.kind].refusal(key);
    if (refusal === undefined) return undefined;
    const names = new Set([...this.#targets(wanted), ...wanted.targets.listed]);
    const reasons = new Map(Array.from(names, (name) => [name, messageOf(refusal)]));
    const failures = new Map([["GetResourceFailed", reasons] as const]);
    const tally = { desired: names.size, failed: names.size, failures };
    const generation = object.metadata.generation ?? 0;
    const status = planStatus(tally, object.status, generation, this.#deps.clock.now());
    return { status, size: names.size };
  }

  /** Namespaces that exist. */
  #targets({ targets }: Wanted): string[] {
    return [...this.#namespaces.values()]
      .filter(({ name, labels }) => targets.includes(name, labels))
      .map(({ name }) => name);
  }

  /** Objects of the copies' name in all namespaces; undefined while they are being listed, which enqueues the key. */
  #copiesFor(
    key: string,
    source: Source | { readonly problem: string },
  ): HeldPods<Copy> | "none" | undefined {
    if ("problem" in source) return "none";
    const selection = { namespace: "", labels: "all", fields: `metadata.name=${source.name}` } as const;
    return this.#needs[source.kind].need(key, [selection])?.[0];
  }

  #begin(
    key: string,
    { metadata }: ResourceDistribution,
    wanted: Wanted,
    copies: HeldPods<Copy> | "none",
  ): Held {
    const places = copies === "none" ? [] : [...copies.values()].map(({ namespace }) => namespace);
    const held: Held = {
      index: new PlaceIndex(wanted, metadata.generation ?? 0, [...this.#targets(wanted), ...places]),
      backoff: new Backoff({ clock: this.#deps.clock, ...REFUSALS }),
      refusing: new Set(),
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

  async #settle(held: Held, copies: HeldPods<Copy> | "none", name: string): Promise<void> {
    const { index, backoff, refusing } = held;
    const outcome = await this.#carryOut(held, copies, name, this.#copyIn(index, copies, name));
    if (outcome === undefined) return;
    index.settle(name, outcome.outcome);
    if (outcome.error === undefined) {
      backoff.forget(name);
      refusing.delete(name);
    } else {
      backoff.failed(name, outcome.error);
      refusing.add(name);
    }
  }

  /** `error`: what is worth another try. Undefined: the process ends. */
  async #carryOut(
    held: Held,
    copies: HeldPods<Copy> | "none",
    name: string,
    copy: Copy | undefined,
    isSecond = false,
  ): Promise<{ outcome: Outcome; error?: unknown } | undefined> {
    const found = this.#namespaces.get(name);
    const namespace = found && { labels: found.labels, deleting: found.deletionAt !== undefined };
    const { write, ...outcome } = planPlace(held.index.wanted, { name, namespace, copy });
    if (write === undefined) return { outcome };
    const { target } = outcome;
    try {
      await this.#write(held, copies, name, write);
      return { outcome: { target } };
    } catch (error) {
      if (this.#deps.signal.aborted) return undefined;
      if (isGoneNamespace(error)) {
        const reason = "namespace not found or is terminating";
        return { outcome: target ? { target, failure: { type: "NamespaceNotExists", reason } } : { target } };
      }
      if (!isSecond && isKubeError(error, "AlreadyExists", "Conflict", "NotFound"))
        return this.#again(held, copies, name, target);
      const failed = { type: failureOf[write.type], reason: messageOf(error) };
      return { outcome: { target, failure: failed }, error };
    }
  }

  /** What was planned with is not what is there: what is there is read, and planned with once more. */
  async #again(
    held: Held,
    copies: HeldPods<Copy> | "none",
    name: string,
    target: boolean,
  ): Promise<{ outcome: Outcome; error?: unknown } | undefined> {
    const { client, signal } = this.#deps;
    const { source, uid } = held.index.wanted;
    if ("problem" in source) return undefined;
    try {
      const ref = { namespace: name, name: source.name };
      const options = { flow: uid, signal };
      const copy = await client.get(copyResources[source.kind], ref, options).catch(ignoreNotFound);
      if (copy !== undefined && copies !== "none") copies.writeBack(copy);
      return await this.#carryOut(held, copies, name, copy, true);
    } catch (error) {
      if (signal.aborted) return undefined;
      const failure = { type: "GetResourceFailed", reason: messageOf(error) } as const;
      return { outcome: { target, failure }, error };
    }
  }

  async #write(held: Held, copies: HeldPods<Copy> | "none", namespace: string, write: Write): Promise<void> {
    const { writesFor, clock, signal } = this.#deps;
    const { source, uid: flow } = held.index.wanted;
    if ("problem" in source) return;
    const resource = copyResources[source.kind];
    const writer = writesFor("Cluster");
    const options = { flow, signal };
    const ref = { namespace, name: source.name };
    switch (write.type) {
      case "create":
        await writer.create(resource, namespace, write.body, options);
        held.awaited.set(namespace, clock.monotonic() + SEEN_WITHIN_MS);
        return;
      case "update": {
        const changed = await writer.patch(resource, ref, { type: "merge", body: write.body }, options);
        if (copies !== "none") copies.writeBack(changed);
        return;
      }
      case "delete": {
        const { uid, resourceVersion } = write.copy;
        await writer.delete(resource, ref, { ...options, uid, resourceVersion });
      }
    }
  }

  #copyIn({ wanted }: PlaceIndex, copies: HeldPods<Copy> | "none", namespace: string): Copy | undefined {
    if (copies === "none" || "problem" in wanted.source) return undefined;
    return copies.get(keyOf({ namespace, name: wanted.source.name }));
  }

  /** Namespaces whose pause is over, and those where a copy was created that nothing shows. */
  #retryDue({ index, backoff, refusing, awaited }: Held, copies: HeldPods<Copy> | "none"): void {
    for (const name of refusing) if (backoff.leftMs(name) === 0) index.touch(name);
    const now = this.#deps.clock.monotonic();
    for (const [name, until] of awaited) {
      if (until > now && this.#copyIn(index, copies, name) === undefined) continue;
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

/** A creation that met a namespace which is gone or going. */
function isGoneNamespace(error: unknown): boolean {
  if (isKubeError(error, "NamespaceTerminating")) return true;
  return isKubeError(error, "NotFound") && error.about?.kind === "namespaces";
}
