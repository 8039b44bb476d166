import fc from "fast-check";
import t from "tap";
import { planNodeImage } from "./plan.ts";
import { checkedSpec } from "./spec.ts";

t.test("what is well formed stays as it is", (t) => {
  const spec = {
    images: {
      nginx: {
        tags: [
          {
            tag: "1",
            version: 2,
            createdAt: "2026-01-01T00:00:00Z",
            imagePullPolicy: "Always",
            ownerReferences: [{ kind: "ImagePullJob", name: "j" }],
            pullPolicy: { timeoutSeconds: 600, backoffLimit: 3, ttlSecondsAfterFinished: 1 },
          },
        ],
        pullSecrets: [{ namespace: "a", name: "b" }],
        sandboxConfig: { labels: { a: "b" } },
      },
    },
  };
  t.same(checkedSpec(spec), { spec, ignored: [] });
  t.same(checkedSpec(undefined), { spec: { images: {} }, ignored: [] });
  t.end();
});

t.test("what cannot be read is named and left out, its neighbours stay", (t) => {
  const { spec, ignored } = checkedSpec({
    images: {
      bad: null,
      mixed: { tags: [{ tag: 5 }, { tag: "ok" }], pullSecrets: "none", sandboxConfig: [] },
    },
  });
  t.same(spec, { images: { mixed: { tags: [{ tag: "ok" }] } } });
  t.same(ignored, [
    "images[bad]",
    "images[mixed].tags[0]",
    "images[mixed].pullSecrets",
    "images[mixed].sandboxConfig",
  ]);
  t.end();
});

t.test("any JSON at all can be planned with", (t) => {
  const anyImages = fc.dictionary(
    fc.string(),
    fc.oneof(fc.jsonValue(), fc.record({ tags: fc.array(fc.jsonValue()), pullSecrets: fc.jsonValue() })),
  );
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.record({ images: anyImages })), (given) => {
      const { spec } = checkedSpec(given);
      const seen = { spec, status: undefined, tasks: new Map(), maxPulls: 0, runtimeReady: true, reason: "" };
      const plan = planNodeImage(seen, 0);
      t.equal(plan.status.desired, plan.tasks.size);
    }),
    { numRuns: 500, seed: 11 },
  );
  t.end();
});
