/** The shell of CloneSet: reads the caches, calls the plan, hands the actions on, writes the status once. */
import type { CloneSet } from "../../crds/index.ts";
import { compileSelector } from "../../kube/core/index.ts";
import type { ControllerRevision, Outcome, PersistentVolumeClaim, Pod } from "../../kube/index.ts";
import type { Caches, KindDeps, KindShell } from "../kind.ts";
import type { ObjectEvent } from "../rollout/actions.ts";
import { type Owner, Performer } from "../rollout/perform.ts";
import { byNumber } from "../rollout/revisions.ts";
import { StatusWriter } from "../rollout/status_writer.ts";
import type { CloneSetOptions, Seen } from "./observe.ts";
import { planCloneSet } from "./plan.ts";

/** Plans of one set take at most a quarter of a core however many events arrive. */
const PLAN_SHARE = 3;
const LONGEST_COALESCING_MS = 250;

export function cloneSetShell(deps: KindDeps<CloneSet>): KindShell {
  return new CloneSetShell(deps);
}

class CloneSetShell implements KindShell {
  readonly #deps: KindDeps<CloneSet>;
  readonly #options: CloneSetOptions;
  readonly #performer: Performer;
  readonly #status: StatusWriter;
  readonly #settledPods = new WeakMap<Pod, boolean>();
  /** How long to gather events before the next plan, by key; milliseconds. */
  readonly #coalescing = new Map<string, number>();

  constructor(deps: KindDeps<CloneSet>) {
    this.#deps = deps;
    this.#options = cloneSetOptions(deps);
    const { client, caches, log, signal } = deps;
    this.#performer = new Performer({
      client,
      pods: caches.pods,
      claims: caches.claims,
      revisions: caches.revisions,
      created: deps.created,
      log,
      signal,
      record: (owner, event) => this.#record(owner, event),
      patchWorkload: async (owner, body, options) => {
        const ref = { namespace: owner.namespace, name: owner.name };
        deps.objects.writeBack(await client.patch(deps.resource, ref, { type: "merge", body }, options));
      },
      settled: (owner, afterMs) =>
        deps.queue.addAfter(owner.key, Math.max(afterMs, this.coalescingMs(owner.key))),
      clock: deps.clock,
      baseDelayMs: deps.options.baseDelayMs,
      maxDelayMs: deps.options.maxDelayMs,
    });
    this.#status = new StatusWriter({
      clock: deps.clock,
      patch: async (target, body) => {
        const set = deps.objects.get(target.key);
        if (set === undefined || set.metadata.uid !== target.uid) return;
        const ref = { namespace: set.metadata.namespace ?? "", name: set.metadata.name ?? "" };
        const options = { subresource: "status", priority: "normal", flow: target.uid, signal } as const;
        deps.objects.writeBack(await client.patch(deps.resource, ref, { type: "merge", body }, options));
      },
      failed: (target, error) => {
        if (!signal.aborted) log.warn("the status could not be written", { error, object: target.key });
        deps.queue.addBackoff(target.key);
      },
      written: (target) => deps.queue.addAfter(target.key, this.#coalescing.get(target.key) ?? 0),
    });
  }

  /** Milliseconds to wait for further events of the same set. */
  coalescingMs(key: string): number {
    return this.#coalescing.get(key) ?? 0;
  }

  forget(key: string, uid: string): void {
    this.#performer.forget(uid);
    this.#status.forget(uid);
    this.#coalescing.delete(key);
  }

  drained(): Promise<void> {
    return this.#performer.drained();
  }

  async reconcile(key: string): Promise<Outcome> {
    const { clock, objects, random } = this.#deps;
    const set = objects.get(key);
    if (set === undefined) return {};
    const started = clock.monotonic();
    const seen = observe(set, this.#deps.caches, this.#performer, this.#options);
    const plan = planCloneSet({
      seen,
      options: this.#options,
      now: clock.now(),
      random,
      settled: this.#settledPods,
    });
    const owner = ownerOf(set, key);
    this.#performer.perform(owner, plan.actions);
    const replicas = plan.status.replicas;
    const important = plan.actions.length === 0 && this.#performer.inFlight(owner.uid) === 0;
    const statusAfterMs = this.#status.offer(
      { key, uid: owner.uid },
      set.status,
      plan.status,
      replicas,
      important,
    );
    const took = clock.monotonic() - started;
    this.#coalescing.set(key, Math.min(LONGEST_COALESCING_MS, took * PLAN_SHARE));
    return { wakeAfterMs: earlier(plan.wakeAfterMs, statusAfterMs) };
  }

  #record(owner: Owner, event: ObjectEvent): void {
    const set = this.#deps.objects.get(owner.key);
    this.#deps.recorder.event(
      {
        apiVersion: "apps.kruise.io/v1beta1",
        kind: "CloneSet",
        namespace: owner.namespace,
        name: owner.name,
        uid: owner.uid,
        resourceVersion: set?.metadata.resourceVersion ?? "",
      },
      event.type,
      event.reason,
      event.message,
    );
  }
}

function cloneSetOptions(deps: KindDeps<CloneSet>): CloneSetOptions {
  const { gates, excludePreparingDelete } = deps.options;
  return {
    shortHash: gates.CloneSetShortHash,
    partitionRollback: gates.CloneSetPartitionRollback,
    preparingUpdateAsUpdate: gates.PreparingUpdateAsUpdate,
    recreateOnClaimChange: gates.RecreatePodWhenChangeVCTInCloneSetGate,
    envFromMetadata: gates.InPlaceUpdateEnvFromMetadata,
    verticalScaling: gates.InPlaceWorkloadVerticalScaling,
    resizeSubresource: deps.server.resizeSubresource,
    excludePreparingDelete,
    preDownload: gates.PreDownloadImageForInPlaceUpdate && deps.server.imagePullJobs,
  };
}

function ownerOf(set: CloneSet, key: string): Owner {
  return {
    key,
    name: set.metadata.name ?? "",
    namespace: set.metadata.namespace ?? "",
    uid: set.metadata.uid ?? "",
  };
}

/** Plain data from the caches; costs what the set owns, not what the cluster holds. */
export function observe(
  set: CloneSet,
  caches: Caches,
  performer: Pick<Performer, "overlay" | "failures">,
  options: CloneSetOptions,
): Seen {
  const uid = set.metadata.uid ?? "";
  const namespace = set.metadata.namespace ?? "";
  const stored = [...caches.pods.byIndex("controller", uid)];
  const overlaid = performer.overlay(uid, stored);
  return {
    set,
    pods: overlaid.pods,
    stored,
    busy: overlaid.busy,
    claims: [...claimsOf(caches, uid)],
    revisions: revisionsOf(set, caches),
    revisionData: (name) => caches.revisions.get(`${namespace}/${name}`)?.data,
    failures: performer.failures(uid),
    nodeLabels: (node) => caches.nodes.get(node)?.labels,
    pullJobs: options.preDownload ? [...caches.pullJobs(uid)] : undefined,
  };
}

function claimsOf(caches: Caches, uid: string): Iterable<PersistentVolumeClaim> {
  return caches.claims.byIndex("owner", uid);
}

/** Those of this set, and those of nobody that its selector matches (inplace-update rule 39). */
function revisionsOf(set: CloneSet, caches: Caches): ControllerRevision[] {
  const own = [...caches.revisions.byIndex("controller", set.metadata.uid ?? "")];
  const selector = compileSelector(set.spec.selector);
  for (const orphan of caches.revisions.byIndex("orphan", set.metadata.namespace ?? "")) {
    if (selector.matches(orphan.labels)) own.push(orphan);
  }
  return own.sort(byNumber);
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}
