/** All workloads of a cluster, with what holds each back. */

import { isKubeError } from "../../../kube/index.ts";
import type { Call, ClusterAccess } from "../../command.ts";
import { describeError } from "../../errors.ts";
import { pluralName, type ResourceType } from "../../resource_types.ts";
import { workloads } from "../../rollout/workloads.ts";
import type { Target } from "../../target.ts";
import { clusterKey, type WorkloadItem } from "../shared/items.ts";
import { answerAbout, restAfter } from "./answer_item.ts";
import { Feed } from "./feed.ts";
import { Followed } from "./follow_resource.ts";
import { isControlled, workloadItem } from "./workload_item.ts";

const jobs: readonly (readonly [group: string, kind: string])[] = [
  ["apps.kruise.io", "BroadcastJob"],
  ["apps.kruise.io", "AdvancedCronJob"],
  ["batch", "Job"],
];
/** What the list can hold. */
export const listedKinds = [...workloads.map(({ group, kind }) => [group, kind] as const), ...jobs];

/** Answers cost requests: so many at a time, and of one object not more often than this. */
const atATime = 2;
const restMs = 2_000;
/** What changed nothing that is watched is asked about again, because an answer has times in it and reads events. */
const againMs = 30_000;
/** Of what got on when it was asked about: its pods may have met what holds them, which its own status does not tell. */
const movingMs = 8_000;
/** More are listed without their reasons. */
const mostExplained = 200;
const statusMs = 500;

interface Asked {
  at: number;
  tookMs: number;
  /** It changed after it was asked about. */
  isOld: boolean;
}

type Explanation = Pick<WorkloadItem, "state" | "message" | "reason" | "reasonText" | "since">;

export interface FleetOptions {
  readonly access: ClusterAccess;
  readonly host: Call["host"];
  /** Absent: all namespaces. */
  readonly namespace?: string;
}

export class Fleet {
  readonly feed: Feed;
  readonly #options: FleetOptions;
  readonly #types = new Map<string, Target>();
  readonly #followed: Followed<WorkloadItem>[] = [];
  readonly #listed = new Map<string, WorkloadItem>();
  readonly #explained = new Map<string, Explanation>();
  readonly #asked = new Map<string, Asked>();
  readonly #running = new Set<string>();
  readonly #timer: { cancel(): void }[] = [];
  #isStopped = false;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.feed = new Feed(options.host.clock);
    this.feed.put(clusterKey, { is: "cluster", isComplete: false, problems: [] });
  }

  /** Throws KubeError when the server cannot be asked what it serves. */
  async start(): Promise<void> {
    const { access, namespace } = this.#options;
    const found = await Promise.all(listedKinds.map(([group, kind]) => access.types.findKind(group, kind)));
    for (const type of found) {
      if (type === undefined || (namespace !== undefined && !type.namespaced)) continue;
      this.#followed.push(this.#follow(type));
    }
    this.#tick();
  }

  /** The object that a key of the feed names; undefined when there is none. Waits until objects of its kind were listed. */
  async target(key: string): Promise<Target | undefined> {
    await this.#followed.find(({ type }) => key.startsWith(`${pluralName(type)}/`))?.settled;
    return this.#types.get(key);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timer) timer.cancel();
    this.feed.stop();
    await Promise.all(this.#followed.map((followed) => followed.stop()));
  }

  #follow(type: ResourceType): Followed<WorkloadItem> {
    return new Followed({
      ...this.#options,
      type,
      make: (object) => (isControlled(object) ? undefined : workloadItem(type, object)),
      changed: ({ type: change, object: { item } }) => {
        if (item === undefined) return;
        const key = keyOfWorkload(type, item);
        if (change === "removed") this.#forget(key);
        else this.#list(key, type, item);
      },
    });
  }

  #list(key: string, type: ResourceType, item: WorkloadItem): void {
    const { name, namespace } = item;
    this.#types.set(key, { type, ref: type.namespaced ? { namespace, name } : { name } });
    this.#listed.set(key, item);
    const asked = this.#asked.get(key);
    if (asked !== undefined) asked.isOld = true;
    if (item.state === "done") {
      this.#explained.delete(key);
      this.#asked.delete(key);
    }
    this.#show(key);
  }

  #forget(key: string): void {
    for (const map of [this.#types, this.#listed, this.#explained, this.#asked]) map.delete(key);
    this.feed.remove(key);
  }

  #show(key: string): void {
    const item = this.#listed.get(key);
    if (item === undefined) return;
    this.feed.put(key, { ...item, ...this.#explained.get(key) });
  }

  #tick(): void {
    if (this.#isStopped) return;
    const problems = this.#followed.flatMap(({ problem }) => problem ?? []);
    const isComplete = this.#followed.every(({ isSettled }) => isSettled);
    this.feed.put(clusterKey, { is: "cluster", isComplete, problems });
    if (this.feed.isSeen) for (const key of this.#due()) void this.#explain(key);
    this.#timer.splice(
      0,
      this.#timer.length,
      this.#options.host.clock.after(statusMs, () => this.#tick()),
    );
  }

  /** What was never asked about first, then what waits for longest. */
  #due(): string[] {
    const now = this.#options.host.clock.now();
    const due: { key: string; at: number }[] = [];
    let explained = 0;
    for (const [key, item] of this.#listed) {
      if (item.state === "done" || explained++ >= mostExplained) continue;
      const asked = this.#asked.get(key);
      const rest = asked === undefined ? 0 : restAfter(asked.tookMs, this.#restOf(key, asked));
      if (!this.#running.has(key) && now - (asked?.at ?? 0) >= rest) due.push({ key, at: asked?.at ?? 0 });
    }
    due.sort((a, b) => a.at - b.at);
    return due.slice(0, Math.max(0, atATime - this.#running.size)).map(({ key }) => key);
  }

  #restOf(key: string, { isOld }: Asked): number {
    if (isOld) return restMs;
    return this.#explained.get(key)?.state === "progressing" ? movingMs : againMs;
  }

  async #explain(key: string): Promise<void> {
    const target = this.#types.get(key);
    const item = this.#listed.get(key);
    if (target === undefined || item === undefined) return;
    const { access, host } = this.#options;
    this.#running.add(key);
    const asked: Asked = { at: host.clock.now(), tookMs: 0, isOld: false };
    this.#asked.set(key, asked);
    const explanation = await answerAbout(access, host, target, item.word).then(
      ({ item: { state, message, reasons }, since }): Explanation => ({
        state,
        message,
        reason: reasons[0]?.code ?? "",
        reasonText: reasons[0]?.text ?? "",
        ...(since === undefined ? {} : { since }),
      }),
      (error: unknown) => refusedExplanation(error, item),
    );
    this.#running.delete(key);
    asked.tookMs = host.clock.now() - asked.at;
    if (this.#isStopped || explanation === undefined || !this.#asked.has(key)) return;
    this.#explained.set(key, explanation);
    this.#show(key);
  }
}

/** An object that went meanwhile needs no answer. */
function refusedExplanation(error: unknown, { message }: WorkloadItem): Explanation | undefined {
  if (isKubeError(error, "NotFound", "Aborted")) return undefined;
  return { state: "unknown", message, reason: "CannotTell", reasonText: describeError(error) };
}

/** Part of the page's address, so it has only what names of objects have. */
export function keyOfWorkload(type: ResourceType, { namespace = "", name }: Target["ref"]): string {
  return [pluralName(type), ...(namespace === "" ? [] : [namespace]), name].join("/");
}
