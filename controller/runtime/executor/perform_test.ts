import t from "tap";
import { type Client, KubeError, type Pod } from "../../../kube/index.ts";
import { performerOn, shownAs } from "../../../testkit/controller/performer_scene.ts";
import { acceptedPod, ownerReference } from "../../rollout/pods/pod_manifest.ts";
import { createPod, deletePod } from "../../rollout/writes/pod_actions.ts";

const metadata = {
  name: "app-1",
  namespace: "d",
  ownerReferences: [ownerReference("CloneSet", "app", "set-1")],
};
const spec = { containers: [{ name: "main", image: "a" }] };
const pod: Pod = { ...acceptedPod(metadata, spec, 0), uid: "1", resourceVersion: "1" };
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
