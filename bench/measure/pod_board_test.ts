import fc from "fast-check";
import t from "tap";
import { Cache } from "../../kube/index.ts";
import { pod } from "../../testkit/bench/pod_builder.ts";
import { podObjects } from "../resources.ts";
import { PodBoard } from "./pod_board.ts";

const step = fc.record({
  name: fc.constantFrom("a", "b", "c", "d"),
  image: fc.constantFrom("app:1", "app:2"),
  ready: fc.boolean(),
  isGone: fc.boolean(),
  marks: fc.boolean(),
});

t.test("ready pods at new revisions are counted as a walk over all pods would", async (t) => {
  const counts = fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
    const cache = new Cache({ identify: podObjects.codec.identify });
    const board = new PodBoard(cache);
    let former = new Set<string>();
    let version = 0;
    for (const { name, image, ready, isGone, marks } of steps) {
      const { metadata, ...rest } = pod({ name, image, ready });
      const seen = { ...rest, metadata: { ...metadata, resourceVersion: String(++version) } };
      if (isGone) cache.remove(podObjects.codec.identify(seen).key, seen.metadata.uid ?? "");
      else cache.upsert(seen);
      const all = [...board.pods()].map(({ spec, status }) => ({
        image: spec.containers[0]?.image ?? "",
        isReady: status?.conditions?.[0]?.status === "True",
      }));
      if (marks) {
        board.markRevisions();
        former = new Set(all.map((one) => one.image));
      }
      const expected = all.filter((one) => one.isReady && !former.has(one.image)).length;
      if (board.readyAtNew !== expected) return false;
    }
    return true;
  });
  t.doesNotThrow(() => fc.assert(counts, { seed: 15, numRuns: 1000 }));
});
