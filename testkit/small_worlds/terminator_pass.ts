/** The reconciler that ends sidecars, asked what it does with what it is shown. It remembers nothing else: each answer is kept. */
import { SidecarTerminatorReconciler } from "../../controller/kinds/sidecar_terminator/reconcile.ts";
import { objectAt, textAt } from "../../controller/native/json_fields.ts";
import { containerRecreateRequestResource } from "../../controller/plan/resources.ts";
import { CachesByScope } from "../../controller/runtime/informers.ts";
import type { PlainResult } from "../../controller/runtime/reconciler.ts";
import type { ContainerRecreateRequest } from "../../crds/index.ts";
import { type JsonObject, keyOf } from "../../kube/core/index.ts";
import { Cache, nodeResource, type Resource, WorkQueue } from "../../kube/index.ts";
import { sharedDeps } from "../controller/kind_deps_builder.ts";
import { testClock } from "../kube/fake_clock.ts";
import { fakeServer } from "../kube/fake_server.ts";

/** The only pod there is, or was. */
export const POD = { namespace: "ns", name: "job" };

/** What the controller has heard of. */
export interface SidecarsSeen {
  readonly pod: JsonObject | undefined;
  readonly requests: ReadonlyMap<string, JsonObject>;
  /** Of the pod's node. */
  readonly node: JsonObject | undefined;
}

class Passes {
  readonly #server = fakeServer();
  readonly #settling = testClock();
  #now = 0;
  readonly #requests = new Cache<ContainerRecreateRequest>(containerRecreateRequestResource.codec);
  readonly #deps;
  readonly #reconciler: SidecarTerminatorReconciler;
  #version = 0;

  constructor() {
    const caches = new CachesByScope();
    caches.set(containerRecreateRequestResource, {}, this.#requests);
    this.#deps = {
      ...sharedDeps(this.#server.client, { ...this.#settling, now: () => this.#now }),
      informers: { cacheOf: <T>(of: Resource<T>) => caches.get(of, {}) ?? new Cache(of.codec) },
    };
    this.#reconciler = new SidecarTerminatorReconciler(this.#deps);
  }

  async over(seen: SidecarsSeen, now: number): Promise<PlainResult | undefined> {
    await this.#show(seen);
    this.#now = now;
    return this.#reconciler.reconcile(keyOf(POD));
  }

  /** Whether a pass follows on what it hears next. */
  async isQueued(before: SidecarsSeen, after: SidecarsSeen): Promise<boolean> {
    await this.#show(before);
    const { clock } = this.#deps;
    this.#deps.queue = new WorkQueue({ clock });
    await this.#show(after, before);
    return this.#deps.queue.depth > 0;
  }

  /** `known`: only what differs is news. */
  async #show(seen: SidecarsSeen, known?: SidecarsSeen): Promise<void> {
    const { nodes } = this.#deps.caches;
    const held = this.#server.object("pods", keyOf(POD));
    if (held !== undefined && uidOf(seen.pod) !== held.metadata.uid) this.#server.remove("pods", keyOf(POD));
    if (seen.pod !== undefined && seen.pod !== known?.pod)
      this.#server.put("pods", { ...seen.pod, metadata: { ...Object(seen.pod["metadata"]) } });
    const { codec } = containerRecreateRequestResource;
    for (const { key, uid } of Array.from(this.#requests.values(), codec.identify))
      if (known === undefined || !seen.requests.has(nameIn(key))) this.#requests.remove(key, uid);
    for (const [name, request] of seen.requests)
      if (request !== known?.requests.get(name))
        this.#requests.upsert(this.#decoded(containerRecreateRequestResource, request));
    if (seen.node === undefined) nodes.remove("n1", "n1", String(this.#version));
    else if (seen.node !== known?.node) nodes.upsert(this.#decoded(nodeResource, seen.node));
    await this.#settling.settle();
  }

  /** As one that nobody has seen before. */
  #decoded<T>({ codec }: Resource<T>, object: JsonObject): T {
    const resourceVersion = String(++this.#version);
    const metadata = { uid: resourceVersion, ...Object(object["metadata"]), resourceVersion };
    return codec.decode(Buffer.from(JSON.stringify({ ...object, metadata })), "application/json");
  }
}

function uidOf(object: JsonObject | undefined): string {
  return textAt(objectAt(object ?? {}, "metadata"), "uid");
}

function nameIn(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}

const passes = new Passes();
const results = new Map<string, PlainResult | undefined>();
const queued = new Map<string, boolean>();

export async function passOver(seen: SidecarsSeen, now: number): Promise<PlainResult | undefined> {
  const question = `${textOf(seen)} ${now}`;
  if (!results.has(question)) results.set(question, await passes.over(seen, now));
  return results.get(question);
}

export async function isQueuedBy(before: SidecarsSeen, after: SidecarsSeen): Promise<boolean> {
  const question = `${textOf(before)} ${textOf(after)}`;
  const answer = queued.get(question) ?? (await passes.isQueued(before, after));
  queued.set(question, answer);
  return answer;
}

function textOf({ pod, requests, node }: SidecarsSeen): string {
  return JSON.stringify([pod, [...requests.keys()].sort(), node]);
}
