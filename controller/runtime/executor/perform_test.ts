import t from "tap";
import { type Client, KubeError, type Pod, type RequestOptions, type Resource } from "../../../kube/index.ts";
import { performerOn, shownAs } from "../../../testkit/controller/performer_scene.ts";
import { plainClaim } from "../../../testkit/controller/projection_builder.ts";
import { acceptedPod, ownerReference } from "../../rollout/pods/pod_manifest.ts";
import type { Action } from "../../rollout/writes/actions.ts";
import { deleteClaim, patchClaim } from "../../rollout/writes/claim_actions.ts";
import { mostCreations } from "../../rollout/writes/creation_room.ts";
import { createPod, deletePod, type PodWriteSettings, patchPod } from "../../rollout/writes/pod_actions.ts";

const metadata = {
  name: "app-1",
  namespace: "d",
  ownerReferences: [ownerReference("CloneSet", "app", "set-1")],
};
const spec = { containers: [{ name: "main", image: "a" }] };
const pod: Pod = { ...acceptedPod(metadata, spec, 0), uid: "1", resourceVersion: "1" };
const claim = plainClaim("d", "data-app-1", { uid: "claim-1" });
const succeeded = { reason: "SuccessfulDelete", message: "app-1" };
const told = "Normal SuccessfulDelete app-1";

/** Deletes a pod on a server that answers so. */
function deleter(answer: () => object, maxDelayMs?: number) {
  const served: Partial<Client> = { delete: async (resource) => shownAs(resource, answer()) };
  const scene = performerOn(served, maxDelayMs === undefined ? {} : { maxDelayMs });
  scene.caches.pods.upsert(pod);
  return { ...scene, once: () => scene.once(deletePod(pod, { succeeded })) };
}

function isEvent(text: string): boolean {
  return text.startsWith("Normal ") || text.startsWith("Warning ");
}

/** What the cache holds afterwards, and what was reported. */
async function deletion(answer: () => object) {
  const { once, caches, happened } = deleter(answer);
  await once();
  return { held: [...caches.pods.values()], events: happened.filter(isEvent) };
}

/** How long each of so many tries in a row is waited for after this failure of the one before. */
async function waits(error: KubeError, tries: number): Promise<number[]> {
  const answer = () => {
    throw error;
  };
  const { once, again, clock } = deleter(answer, 1_000_000);
  for (let n = 0; n < tries; n++) {
    await once();
    await clock.advance(again.at(-1) ?? 0);
  }
  return again;
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
    t.match(await deletion(() => left), { held: [{ uid: "1", resourceVersion: "2" }], events: [told] });
    t.same(await deletion(() => shown), { held: [], events: [told] });
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
      const { once, caches, happened } = performerOn({
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
      await once(createPod(metadata, spec, 0));
      return {
        held: [...caches.pods.values()].map(({ uid }) => uid),
        reasons: happened.filter(isEvent).map((event) => event.split(" ")[1]),
      };
    };
    t.same(await creation(metadata.ownerReferences), { held: ["7"], reasons: [] });
    const another = [ownerReference("CloneSet", "app", "set-2")];
    t.same(await creation(another), { held: [], reasons: ["FailedCreate"] });
    t.same(await creation([]), { held: [], reasons: ["FailedCreate"] });
  },
);

t.test("a creation whose answer was lost is looked for although the workload has changed", async (t) => {
  const place = Promise.withResolvers<void>();
  const { once, changed, caches, clock } = performerOn({
    create: async () => {
      await place.promise;
      throw new KubeError("Aborted", "not wanted any more", { ambiguous: true });
    },
    get: async (resource, _ref, { isWanted } = {}) => {
      if (isWanted?.() === false) throw new KubeError("Aborted", "not wanted any more");
      return shownAs(resource, { metadata: { ...metadata, uid: "7", resourceVersion: "3" }, spec });
    },
  });
  const ended = once(createPod(metadata, spec, 0));
  await clock.settle();
  changed();
  place.resolve();
  await ended;
  t.same(
    [...caches.pods.values()].map(({ uid }) => uid),
    ["7"],
  );
});

t.test("what waits for a place in the window is withdrawn when the workload changes", async (t) => {
  const creation: Action = createPod({ ...metadata, name: "app-2" }, spec, 0);
  const out = { conditions: [{ type: "InPlaceUpdateReady", status: "False" as const }] };
  const patchOf = (settings?: PodWriteSettings): Action => patchPod(pod, out, 0, "update", settings);
  for (const [what, action, isSent] of [
    ["a creation", creation, false],
    ["a deletion", deletePod(pod), false],
    ["what a claim is to go with", patchClaim(claim, {}), false],
    ["the deletion of a claim", deleteClaim(claim), false],
    ["what takes a pod out of service, once its budget was asked", patchOf({ disrupts: true }), false],
    // Its pod is out of service: it is brought back, whatever the spec says now.
    ["what ends an update", patchOf(), true],
  ] as const) {
    const sent: string[] = [];
    const place = Promise.withResolvers<void>();
    const send = async <T>(verb: string, resource: Resource<T>, { isWanted }: RequestOptions = {}) => {
      await place.promise;
      if (isWanted?.() === false) throw new KubeError("Aborted", "not wanted any more");
      sent.push(verb);
      return shownAs(resource, { metadata: { ...metadata, uid: "1", resourceVersion: "2" }, spec });
    };
    const scene = performerOn({
      create: (resource, _namespace, _body, options) => send("create", resource, options),
      patch: (resource, _ref, _patch, options) => send("patch", resource, options),
      delete: (resource, _ref, options) => send("delete", resource, options),
    });
    scene.caches.pods.upsert(pod);
    const ended = scene.once(action);
    await scene.clock.settle();
    const isOfClaim = action.type.endsWith("claim");
    t.equal(scene.pending().size, isOfClaim ? 0 : 1, what);
    scene.changed();
    t.equal(scene.isClaimWritten(claim.name), isOfClaim, "it may still arrive");
    place.resolve();
    await ended;
    t.notOk(scene.isClaimWritten(claim.name));
    t.equal(sent.length, isSent ? 1 : 0, what);
    t.same([scene.pending().size, scene.again.at(-1)], [0, 0], "and it is planned again at once");
    t.same(isSent ? [] : scene.happened.filter(isEvent), [], "nothing is told");
  }
});

t.test(
  "creations are under way until they have ended: answered, refused with those after them, or withdrawn",
  async (t) => {
    const creations = Array.from({ length: 20 }, (_, index) =>
      createPod({ ...metadata, name: `app-${index}` }, spec, 0),
    );
    for (const end of ["answered", "refused", "withdrawn"]) {
      const place = Promise.withResolvers<void>();
      const { once, changed, creationRoom, clock } = performerOn({
        create: async (resource, _namespace, body) => {
          await place.promise;
          if (end === "refused") throw new KubeError("Forbidden", "quota", { status: 403 });
          return shownAs(resource, Object(body));
        },
      });
      const ended = once(...creations);
      await clock.settle();
      t.equal(creationRoom(), mostCreations - 20, end);
      if (end === "withdrawn") changed();
      place.resolve();
      await ended;
      t.equal(creationRoom(), mostCreations, end);
    }
  },
);
