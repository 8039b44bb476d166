/** One workload with its pods and the answer of `refit why`, for as long as a page shows it. */

import { formatSelector } from "../../../kube/core/index.ts";
import { type Change as CacheChange, sidesOf } from "../../../kube/index.ts";
import { describeError } from "../../errors.ts";
import { type AnyObject, at, listAt, selectorAt, textAt } from "../../fields.ts";
import { readTarget, type Target } from "../../target.ts";
import { type PodSource, podSourceOf } from "../../why/causes/pod_sources.ts";
import { shownText } from "../../why/causes/shown_text.ts";
import { answerKey, clusterKey, type PodItem } from "../shared/items.ts";
import { answerAbout, restAfter } from "../watching/answer_item.ts";
import { Feed } from "../watching/feed.ts";
import type { Fleet, FleetOptions } from "../watching/fleet.ts";
import { Followed, type Kept } from "../watching/follow_resource.ts";
import type { NodeZones } from "../watching/node_zones.ts";
import { podItem } from "./pod_item.ts";
import { type InjectedPod, injectedPod } from "./sidecar_owners.ts";
import { WorkloadDetails } from "./workload_details.ts";
import { WorkloadEvents } from "./workload_events.ts";

const restMs = 1_500;
const againMs = 10_000;

type Watch = Pick<Followed<unknown>, "settled" | "stop">;

interface OwnedPod {
  readonly item: PodItem;
  readonly uid: string;
  /** Of the pods of a SidecarSet. */
  readonly injected?: InjectedPod;
  /** UID of its controller, or `true` where its owner does not matter. */
  readonly owner: string | true;
}

export interface WorkloadFeedOptions extends FleetOptions {
  readonly fleet: Fleet;
  readonly zones: NodeZones;
  /** Of the fleet's feed. */
  readonly key: string;
  readonly target: Target;
}

export class WorkloadFeed {
  readonly feed: Feed;
  readonly #options: WorkloadFeedOptions;
  readonly #fleet: Fleet;
  readonly #key: string;
  readonly #target: Target;
  readonly #pods = new Map<string, OwnedPod>();
  /** UIDs of the workload and of what stands between it and its pods, each with its own controller. */
  readonly #owners = new Map<string, string>();
  readonly #followed: Watch[] = [];
  readonly #listened: (() => void)[] = [];
  readonly #details: WorkloadDetails;
  #events: WorkloadEvents | undefined;
  #root = "";
  #timer: { cancel(): void } | undefined;
  #askedAt = 0;
  #tookMs = 0;
  #isOld = true;
  #isGone = false;
  #isStopped = false;

  constructor(options: WorkloadFeedOptions) {
    const { fleet, key, target } = options;
    this.#options = options;
    this.#fleet = fleet;
    this.#key = key;
    this.#target = target;
    this.feed = new Feed(options.host.clock);
    this.#details = new WorkloadDetails({
      ...options,
      feed: this.feed,
      podUids: () =>
        new Set([...this.#pods.values()].flatMap((pod) => (this.#isOurs(pod.owner) ? pod.uid : []))),
      injectedPods: () => [...this.#pods.values()].flatMap(({ injected }) => injected ?? []),
      problems: () => [this.#events?.problem, options.zones.problem].filter((each) => each !== undefined),
    });
    const stopListening = fleet.feed.listen((changed) => {
      if (changed === key || changed === clusterKey) this.#takeFromFleet(changed);
    });
    this.#listened.push(stopListening);
    for (const shared of [clusterKey, key]) this.#takeFromFleet(shared);
  }

  /** Throws KubeError when the workload cannot be read. */
  async start(): Promise<void> {
    await Promise.all([this.#read(), this.#listenToZones()]);
    void this.#tick();
  }

  async #read(): Promise<void> {
    const { access } = this.#options;
    const stored = await readTarget(access, this.#target);
    this.#root = stored.metadata.uid ?? "";
    this.#followEvents(stored);
    const source = podSourceOf(this.#target.type);
    if (source !== undefined && source.selector !== "none") await this.#followPods(source, stored);
    // A page that began without pods would show that all of them are missing.
    await Promise.all(this.#followed.map(({ settled }) => settled));
  }

  async #listenToZones(): Promise<void> {
    const stop = await this.#options.zones.listen((node) => {
      for (const [key, { item }] of this.#pods) if (item.node === node) this.#showPod(key);
    });
    if (this.#isStopped) stop();
    else this.#listened.push(stop);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#details.stop();
    for (const stop of this.#listened) stop();
    await this.#events?.stop();
    this.feed.stop();
    await Promise.all(this.#followed.map((followed) => followed.stop()));
  }

  #takeFromFleet(key: string): void {
    const item = this.#fleet.feed.state.get(key);
    const before = this.feed.state.get(key);
    if (item === undefined) this.feed.remove(key);
    else this.feed.put(key, item);
    if (key !== this.#key) return;
    this.#isOld = true;
    if (item?.is === "workload" && before?.is === "workload" && item.revision !== before.revision)
      for (const [pod, { injected }] of this.#pods) if (injected !== undefined) this.#showPod(pod);
    if (item !== undefined && this.#isGone) this.#readAgain();
    this.#isGone = item === undefined;
  }

  /** Another object of the same name may have other pods, found by another selector. */
  #readAgain(): void {
    for (const followed of this.#followed.splice(0)) void followed.stop();
    for (const key of this.#pods.keys()) this.feed.remove(`pod/${key}`);
    this.#pods.clear();
    this.#owners.clear();
    // What fails here is said by the answer, which reads the same object.
    this.#read().catch(() => undefined);
  }

  async #followPods(source: PodSource, stored: AnyObject): Promise<void> {
    const { access } = this.#options;
    const selector = source.selector === "none" ? undefined : source.selector?.(stored);
    const labelSelector = formatSelector(selector ?? selectorAt(stored, "spec", "selector"));
    const { namespace } = stored.metadata;
    const place = { ...this.#options, ...(namespace === undefined ? {} : { namespace }), labelSelector };
    for (const [group, kind] of source.between ?? []) {
      const type = await access.types.findKind(group, kind);
      if (type !== undefined) this.#start(new Followed({ ...place, type, ...this.#between() }));
    }
    const podType = await access.types.findKind("", "Pod");
    if (podType !== undefined)
      this.#start(new Followed({ ...place, type: podType, ...this.#podsBy(source, stored) }));
  }

  /** Not waited for: they may be many, and a page does without them. */
  #followEvents(stored: AnyObject): void {
    void this.#events?.stop();
    if (this.#isStopped) return;
    this.#events = new WorkloadEvents(stored, this.feed);
    void this.#events.follow(this.#options, stored).catch(() => undefined);
  }

  #start(followed: Watch): void {
    if (this.#isStopped) void followed.stop();
    else this.#followed.push(followed);
  }

  #between() {
    return {
      make: (object: AnyObject) => ({ uid: object.metadata.uid ?? "", owner: controllerOf(object) }),
      changed: ({ type, object: { item } }: CacheChange<Kept<{ uid: string; owner: string }>>): void => {
        if (item === undefined) return;
        const before = this.#owners.get(item.uid);
        if (type === "removed") this.#owners.delete(item.uid);
        else this.#owners.set(item.uid, item.owner);
        if (before !== this.#owners.get(item.uid)) for (const key of this.#pods.keys()) this.#showPod(key);
      },
    };
  }

  #podsBy({ carries, kind }: PodSource, stored: AnyObject) {
    const { name = "" } = stored.metadata;
    return {
      make: (pod: AnyObject): OwnedPod | undefined => {
        const { uid = "" } = pod.metadata;
        if (carries === undefined) return { item: podItem(pod), uid, owner: controllerOf(pod) };
        if (!carries(pod, stored)) return undefined;
        if (kind !== "SidecarSet") return { item: podItem(pod), uid, owner: true };
        const injected = injectedPod(pod, name);
        return { item: podItem(pod), uid, owner: true, injected };
      },
      changed: (change: CacheChange<Kept<OwnedPod>>): void => {
        const { key, item } = change.object;
        if (sidesOf(change).after === undefined || item === undefined) this.#pods.delete(key);
        else this.#pods.set(key, item);
        this.#isOld = true;
        this.#showPod(key);
      },
    };
  }

  #showPod(key: string): void {
    const pod = this.#pods.get(key);
    const shown = `pod/${key}`;
    if (pod === undefined || !this.#isOurs(pod.owner)) {
      this.feed.remove(shown);
      return;
    }
    this.#events?.addPod(pod.uid);
    const zone = shownText(this.#options.zones.of(pod.item.node));
    this.feed.put(shown, { ...pod.item, ...this.#injectedRevision(pod), zone });
  }

  /** What is rolled out there is the set's revision, not that of whoever made the pod. */
  #injectedRevision({ injected }: OwnedPod): Pick<PodItem, "revision"> | undefined {
    if (injected === undefined) return undefined;
    const set = this.feed.state.get(this.#key);
    const isNewest = set?.is === "workload" && set.hash === injected.hash;
    return { revision: isNewest ? set.revision : injected.version };
  }

  /** Owners form a short chain: a pod, a ReplicaSet, a Deployment, a UnitedDeployment. */
  #isOurs(owner: string | true): boolean {
    let uid: string | true | undefined = owner;
    for (let steps = 0; steps < 4 && uid !== undefined; steps++) {
      if (uid === true || uid === this.#root) return true;
      uid = this.#owners.get(uid);
    }
    return false;
  }

  async #tick(): Promise<void> {
    const { access, host } = this.#options;
    const { clock } = host;
    if (clock.now() - this.#askedAt >= restAfter(this.#tookMs, this.#isOld ? restMs : againMs)) {
      this.#isOld = false;
      const begun = clock.now();
      // What fails of the details is said by the answer, which reads the same object.
      await Promise.all([this.#answer(access), this.#details.read().catch(() => undefined)]);
      this.#askedAt = clock.now();
      this.#tookMs = this.#askedAt - begun;
    }
    if (this.#isStopped) return;
    this.#events?.show((uid) => this.#isOurs(uid));
    this.#timer = clock.after(250, () => void this.#tick());
  }

  async #answer(access: FleetOptions["access"]): Promise<void> {
    const item = this.feed.state.get(this.#key);
    if (item?.is !== "workload") return this.feed.remove(answerKey);
    try {
      const { item: answer } = await answerAbout(access, this.#options.host, this.#target, item.word);
      if (!this.#isStopped) this.feed.put(answerKey, answer);
    } catch (error) {
      if (this.#isStopped) return;
      const nothing = { reasons: [], next: [], notices: [] };
      this.feed.put(answerKey, {
        is: "answer",
        command: `refit why ${item.word}`,
        state: "unknown",
        message: item.message,
        ...nothing,
        unread: describeError(error),
      });
    }
  }
}

function controllerOf(object: AnyObject): string {
  const owner = listAt(object, "metadata", "ownerReferences").find((each) => at(each, "controller") === true);
  return textAt(owner, "uid") ?? "";
}
