import t from "tap";
import {
  type Client,
  type Clock,
  jsonResource,
  KubeError,
  nullLog,
  type Pod,
  type Resource,
  systemClock,
} from "../../../kube/index.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { controlledPods } from "../../rollout/pods/owned_pods.ts";
import { acceptedPod, ownerReference } from "../../rollout/pods/pod_manifest.ts";
import type { Action, ObjectEvent } from "../../rollout/writes/actions.ts";
import { sharedCaches } from "../caches.ts";
import { Performer } from "./perform.ts";

const pullJobs = {
  group: "apps.kruise.io",
  version: "v1beta1",
  plural: "imagepulljobs",
  kind: "ImagePullJob",
  namespaced: true,
};
const owner = { key: "d/app", name: "app", namespace: "d", uid: "set-1" };
const metadata = {
  name: "app-1",
  namespace: "d",
  ownerReferences: [ownerReference("CloneSet", "app", "set-1")],
};
const spec = { containers: [{ name: "main", image: "a" }] };
const pod: Pod = { ...acceptedPod(metadata, spec, 0), uid: "1", resourceVersion: "1" };
const succeeded: ObjectEvent = { type: "Normal", reason: "SuccessfulDelete", message: "app-1" };

interface Settings {
  readonly clock?: Clock;
  readonly maxDelayMs?: number;
  requeue?(afterMs: number): void;
}

/** Carries out actions on a server that serves no more than this. */
function performerOn(
  served: Partial<Client>,
  { clock = systemClock, maxDelayMs = 1, requeue }: Settings = {},
) {
  const none = () => Promise.reject(new KubeError("MethodNotAllowed", "not served here"));
  const client: Client = {
    get: none,
    list: none,
    create: none,
    replace: none,
    patch: none,
    delete: none,
    watch: none,
    request: none,
    close: async () => undefined,
    ...served,
  };
  const caches = sharedCaches();
  const events: ObjectEvent[] = [];
  const performer = new Performer({
    client,
    writerOf: () => client,
    ...caches,
    pods: controlledPods(caches.pods),
    created: { imagepulljobs: jsonResource(pullJobs) },
    objectCreated: () => undefined,
    log: nullLog,
    record: (_owner, event) => events.push(event),
    patchWorkload: none,
    deleteWorkload: none,
    mayAdopt: async () => true,
    requeue: (_owner, afterMs) => requeue?.(afterMs),
    unblocked: () => undefined,
    clock,
    baseDelayMs: 1,
    maxDelayMs,
    signal: new AbortController().signal,
  });
  const once = (action: Action) => {
    performer.perform(owner, 1, [action]);
    return performer.drained();
  };
  return { once, caches, events };
}

const shownAs = <T>({ codec }: Resource<T>, object: object): T =>
  codec.decode(new TextEncoder().encode(JSON.stringify(object)), "application/json");

/** Deletes a pod on a server that answers so. */
function deleter(answer: () => object, settings: Settings = {}) {
  const served: Partial<Client> = { delete: async (resource) => shownAs(resource, answer()) };
  const { once, caches, events } = performerOn(served, settings);
  caches.pods.upsert(pod);
  return { once: () => once({ type: "delete pod", pod, claims: [], succeeded }), caches, events };
}

/** What the cache holds afterwards, and what was reported. */
async function deletion(answer: () => object) {
  const { once, caches, events } = deleter(answer);
  await once();
  return { held: [...caches.pods.values()], events };
}

/** How long each of so many tries in a row is waited for after this failure of the one before. */
async function waits(error: KubeError, tries: number): Promise<number[]> {
  const clock = testClock();
  const after: number[] = [];
  const answer = () => {
    throw error;
  };
  const { once } = deleter(answer, { clock, maxDelayMs: 1_000_000, requeue: (ms) => after.push(ms) });
  for (let n = 0; n < tries; n++) {
    await once();
    await clock.advance(after.at(-1) ?? 0);
  }
  return after;
}

t.test("a server that was away for an hour is written to within seconds of its return", async (t) => {
  const away = await waits(new KubeError("Network", "connect ECONNREFUSED"), 30);
  t.equal(Math.max(...away), 5_000);
  const refusing = await waits(new KubeError("Forbidden", "quota", { status: 403 }), 30);
  t.equal(Math.max(...refusing), 1_000_000, "one that refuses is left alone for longer");
  const busy = await waits(
    new KubeError("TooManyRequests", "later", { status: 429, retryAfterMs: 7_000 }),
    2,
  );
  t.same(busy, [7_000, 7_000], "no earlier than it asks for");
});

t.test(
  "a deleted pod is held while it terminates, and dropped when the answer shows it as it was",
  async (t) => {
    const shown = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { ...metadata, uid: "1", resourceVersion: "2" },
      spec,
    };
    const left = { ...shown, metadata: { ...shown.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    t.match(await deletion(() => left), { held: [{ uid: "1", resourceVersion: "2" }], events: [succeeded] });
    t.same(await deletion(() => shown), { held: [], events: [succeeded] });
  },
);

t.test("a pod that was gone already is not reported as deleted", async (t) => {
  const gone = () => {
    throw new KubeError("NotFound", "DELETE pods: not found", { status: 404 });
  };
  t.same(await deletion(gone), { held: [], events: [] });
});

t.test(
  "after a lost answer, what has the name counts as created only if the owner controls it",
  async (t) => {
    const creation = async (ownerReferences: readonly object[]) => {
      const { once, caches, events } = performerOn({
        create: async () => {
          throw new KubeError("Network", "the connection broke", { ambiguous: true });
        },
        get: async (resource) =>
          shownAs(resource, {
            apiVersion: "v1",
            kind: "Pod",
            metadata: { ...metadata, ownerReferences, uid: "7", resourceVersion: "3" },
            spec,
          }),
      });
      const body = { apiVersion: "v1", kind: "Pod", metadata, spec };
      await once({ type: "create pod", name: "app-1", body, after: pod, claims: [] });
      return {
        held: [...caches.pods.values()].map(({ uid }) => uid),
        reasons: events.map(({ reason }) => reason),
      };
    };
    t.same(await creation(metadata.ownerReferences), { held: ["7"], reasons: [] });
    const another = [ownerReference("CloneSet", "app", "set-2")];
    t.same(await creation(another), { held: [], reasons: ["FailedCreate"] });
    t.same(await creation([]), { held: [], reasons: ["FailedCreate"] });
  },
);
