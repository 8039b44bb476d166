/** When a container may be stopped for a new environment, against a model of the kubelet that starts it again. */
import fc from "fast-check";
import t from "tap";
import { PendingRestarts, staleSyncMs } from "./pending_restarts.ts";

const place = { podKey: "default/web", name: "main" };

t.test("a container is stopped only when the pod has asked for its environment long enough", async (t) => {
  const pending = new PendingRestarts();
  t.equal(pending.ask("c1", { ...place, wanted: 1 }, 10_000), staleSyncMs);
  t.equal(pending.ask("c1", { ...place, wanted: 1 }, 10_500), staleSyncMs - 500);
  t.equal(pending.ask("c1", { ...place, wanted: 2 }, 11_000), staleSyncMs, "another environment");
  t.equal(pending.ask("c2", { ...place, wanted: 2 }, 12_000), staleSyncMs, "another container");
  t.equal(pending.ask("c1", { ...place, wanted: 2 }, 13_500), 0);
  t.match(pending.get("c1"), { ...place, wanted: 2 });
  pending.delete("c1");
  t.equal(pending.ask("c1", { ...place, wanted: 2 }, 13_500), staleSyncMs);
});

interface Course {
  /** When the kubelet's looks at the runtime begin and for how long they last, in order. */
  readonly looks: readonly { readonly startMs: number; readonly endMs: number }[];
  /** Other changes of the pod that make the kubelet sync it; the new metadata comes at 5,000. */
  readonly changes: readonly number[];
  readonly syncMs: number;
  readonly kubeletLagMs: number;
  readonly agentLagMs: number;
}

const metadataAt = 5_000;

/** One pod worker of a kubelet and one stop by the agent: does the next container get the new environment? */
function startsWithNew(course: Course, stoppedAt: number): boolean {
  const { looks, changes, syncMs, kubeletLagMs } = course;
  const hasMetadataAt = metadataAt + kubeletLagMs;
  // The look that shows the end of the container makes it sync, too.
  const shown = looks.find((look) => look.startMs >= stoppedAt)?.endMs ?? 0;
  let lastSync = 0;
  let free = 0;
  for (const change of [...changes, hasMetadataAt, shown].sort((a, b) => a - b)) {
    // A worker that is free takes the pod as it is now; what comes meanwhile waits, and only the last of it counts.
    const takenAt = Math.max(change, free);
    const look = looks.find(({ startMs, endMs }) => startMs > lastSync && endMs >= takenAt);
    const known = looks.findLast(({ startMs, endMs }) => startMs > lastSync && endMs <= takenAt) ?? look;
    if (known === undefined) throw new Error("too few looks");
    const syncAt = Math.max(takenAt, known.endMs);
    // As bad as it can be: a look shows whatever ended before it did.
    if (known.endMs >= stoppedAt) return takenAt >= hasMetadataAt;
    lastSync = syncAt + syncMs;
    free = lastSync;
  }
  throw new Error("the container was not started");
}

const course: fc.Arbitrary<Course> = fc
  .record({
    first: fc.nat(1_000),
    lasting: fc.array(fc.nat(400), { minLength: 20, maxLength: 20 }),
    changes: fc.array(fc.integer({ min: 3_000, max: 8_000 }), { maxLength: 8 }),
    syncMs: fc.nat(300),
    kubeletLagMs: fc.nat(200),
    agentLagMs: fc.nat(200),
  })
  .map(({ first, lasting, ...rest }) => {
    let at = first;
    const looks = lasting.map((ms) => {
      const look = { startMs: at, endMs: at + ms };
      at = look.endMs + 1_000;
      return look;
    });
    return { ...rest, looks };
  });

function stoppedAfter(waitMs: number): (one: Course) => boolean {
  return (one) => startsWithNew(one, metadataAt + one.agentLagMs + waitMs);
}

t.test("a kubelet never starts the stopped container with the metadata of before", async () => {
  fc.assert(fc.property(course, stoppedAfter(staleSyncMs)), { numRuns: 2_000 });
});

t.test("without the wait, and with half of it, some kubelet does", async (t) => {
  for (const waitMs of [0, staleSyncMs / 2]) {
    const { failed } = fc.check(fc.property(course, stoppedAfter(waitMs)), { numRuns: 20_000, seed: 1 });
    t.ok(failed, `after ${waitMs} ms`);
  }
});
