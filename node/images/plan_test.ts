import fc from "fast-check";
import t from "tap";
import type { NodeImageSpec, NodeImageStatus } from "../../crds/index.ts";
import { type ImagePullObserved, type PullTask, planNodeImage, taskKey } from "./plan.ts";
import { fullRepository, imageReference } from "./reference.ts";

const now = Date.parse("2026-01-01T00:00:10Z");

function tags(...names: readonly string[]): NodeImageSpec["images"] {
  return { nginx: { tags: names.map((tag) => ({ tag, version: 0 })) } };
}

function seen(more: Partial<ImagePullObserved> = {}): ImagePullObserved {
  return {
    spec: {},
    status: undefined,
    tasks: new Map(),
    maxPulls: 0,
    runtimeReady: true,
    reason: "",
    ...more,
  };
}

t.test("new tags start; the status counts them", async (t) => {
  const plan = planNodeImage(seen({ spec: { images: tags("1", "2") } }), now);
  t.same(plan.start, [taskKey("nginx", "1"), taskKey("nginx", "2")]);
  t.match(plan.status, { desired: 2, pulling: 2, waiting: 0, succeeded: 0, failed: 0 });
  t.same(plan.status.imageStatuses?.["nginx"]?.tags[0], {
    tag: "1",
    phase: "Pulling",
    startTime: "2026-01-01T00:00:10Z",
  });
});

t.test("with one slot, one pulls and the others wait in order", async (t) => {
  const first = planNodeImage(seen({ spec: { images: tags("b") }, maxPulls: 1 }), now);
  const second = planNodeImage(
    seen({ spec: { images: tags("a", "b", "c") }, tasks: first.tasks, maxPulls: 1 }),
    now,
  );
  t.same(second.start, []);
  t.match(second.status, { pulling: 1, waiting: 2 });
  const done = new Map(second.tasks);
  const b = done.get(taskKey("nginx", "b"));
  if (b) done.set(taskKey("nginx", "b"), { ...b, phase: "Succeeded", completedAt: now });
  const third = planNodeImage(seen({ spec: { images: tags("a", "b", "c") }, tasks: done, maxPulls: 1 }), now);
  t.same(third.start, [taskKey("nginx", "a")], "first come, first served");
});

t.test(
  "a completed status of the same version is kept, also after a restart; a raised version pulls again",
  async (t) => {
    const status: NodeImageStatus = {
      desired: 1,
      imageStatuses: {
        nginx: {
          tags: [
            {
              tag: "1",
              phase: "Succeeded",
              version: 2,
              completionTime: "2026-01-01T00:00:00Z",
              imageID: "nginx@x",
            },
          ],
        },
      },
    };
    const spec = (version: number): NodeImageSpec => ({
      images: { nginx: { tags: [{ tag: "1", version }] } },
    });
    const same = planNodeImage(seen({ spec: spec(2), status }), now);
    t.same(same.start, []);
    t.match(same.status, {
      succeeded: 1,
      imageStatuses: { nginx: { tags: [{ imageID: "nginx@x", version: 2 }] } },
    });
    const raised = planNodeImage(seen({ spec: spec(3), status, tasks: same.tasks }), now);
    t.same(raised.start, [taskKey("nginx", "1")]);
    t.same(raised.stop, [taskKey("nginx", "1")]);
  },
);

t.test("a tag that is gone is stopped and leaves the status", async (t) => {
  const first = planNodeImage(seen({ spec: { images: tags("1", "2") } }), now);
  const second = planNodeImage(seen({ spec: { images: tags("2") }, tasks: first.tasks }), now);
  t.same(second.stop, [taskKey("nginx", "1")]);
  t.equal(second.status.desired, 1);
  const none = planNodeImage(seen({ spec: {}, tasks: second.tasks }), now);
  t.same(none.status, { desired: 0, succeeded: 0, failed: 0, pulling: 0, waiting: 0 });
});

t.test(
  "what somebody else has ended is over, also while it waits or is pulled (images 7.4, N4.5)",
  async (t) => {
    const spec: NodeImageSpec = { images: tags("1", "2", "3") };
    const before = planNodeImage(seen({ spec, maxPulls: 2 }), now);
    t.match(before.status, { pulling: 2, waiting: 1 });
    const late = (tag: string) => ({
      tag,
      phase: "Failed",
      completionTime: "2026-01-01T00:50:00Z",
      message: "late",
    });
    const status = { ...before.status, imageStatuses: { nginx: { tags: [late("1"), late("3")] } } };
    const after = planNodeImage(seen({ spec, status, tasks: before.tasks, maxPulls: 2 }), now);
    t.same(after.stop, [taskKey("nginx", "1"), taskKey("nginx", "3")]);
    t.match(after.status, { failed: 2, pulling: 1, waiting: 0 });
    t.match(after.status.imageStatuses?.["nginx"]?.tags, [
      late("1"),
      { tag: "2", phase: "Pulling" },
      late("3"),
    ]);
    const done = new Map(
      [...before.tasks].map(([key, task]) => [
        key,
        { ...task, phase: "Succeeded" as const, completedAt: now },
      ]),
    );
    t.match(
      planNodeImage(seen({ spec, status, tasks: done }), now).status,
      { succeeded: 3 },
      "an end of its own counts",
    );
  },
);

t.test("without a runtime everything waits and says why", async (t) => {
  const plan = planNodeImage(
    seen({ spec: { images: tags("1") }, runtimeReady: false, reason: "no sock" }),
    now,
  );
  t.same(plan.start, []);
  t.match(plan.status.imageStatuses?.["nginx"]?.tags[0], { phase: "Waiting", message: "no sock" });
  const without = { spec: { images: tags("1", "2") }, runtimeReady: false, reason: "no sock" };
  const { tasks } = planNodeImage(seen(without), now);
  const found = planNodeImage(seen({ spec: without.spec, tasks, maxPulls: 1 }), now);
  t.match(found.status, { pulling: 1, waiting: 1 });
  t.notMatch(
    found.status.imageStatuses?.["nginx"]?.tags[1],
    { message: "no sock" },
    "it waits for a slot now",
  );
});

t.test("never more pulls than slots, each wanted tag exactly once, any history", async (t) => {
  const name = fc.constantFrom("nginx", "__proto__", "redis", "a/b");
  const tag = fc.record({ tag: fc.constantFrom("1", "2", "3"), version: fc.nat(2) });
  const spec = fc.array(fc.tuple(name, fc.array(tag, { maxLength: 4 })), { maxLength: 4 }).map(
    (entries): NodeImageSpec => ({
      images: Object.fromEntries(entries.map(([key, list]) => [key, { tags: list }])),
    }),
  );
  fc.assert(
    fc.property(fc.array(spec, { maxLength: 6 }), fc.nat(3), fc.array(fc.nat(5)), (specs, maxPulls, ends) => {
      let tasks: ReadonlyMap<string, PullTask> = new Map();
      for (const [index, one] of specs.entries()) {
        const plan = planNodeImage(seen({ spec: one, tasks, maxPulls }), now);
        const pulling = [...plan.tasks.values()].filter((task) => task.phase === "Pulling").length;
        if (maxPulls > 0 && pulling > maxPulls) return false;
        const { desired, succeeded = 0, failed = 0, pulling: counted = 0, waiting = 0 } = plan.status;
        if (desired !== plan.tasks.size || desired !== succeeded + failed + counted + waiting) return false;
        const next = new Map(plan.tasks);
        for (const end of ends) {
          const [key, task] = [...next][(end + index) % Math.max(1, next.size)] ?? [];
          if (key && task?.phase === "Pulling")
            next.set(key, { ...task, phase: "Succeeded", completedAt: now });
        }
        tasks = next;
      }
      return true;
    }),
    { seed: 20260101, numRuns: 500 },
  );
  t.pass("500 histories");
});

t.test("references", async (t) => {
  t.equal(imageReference("nginx", "1.25"), "nginx:1.25");
  t.equal(imageReference("reg.io:5000/a/b", "v1"), "reg.io:5000/a/b:v1");
  const digest = `sha256:${"a".repeat(64)}`;
  t.equal(imageReference("nginx", digest), `nginx@${digest}`);
  for (const [name, tag] of [
    ["", "1"],
    ["NGINX/UPPER", "1"],
    ["../etc", "1"],
    ["nginx;reboot", "1"],
    ["nginx", "1 2"],
    ["nginx", ""],
    ["nginx", "a\u0000b"],
    ["a".repeat(300), "1"],
    ["nginx\n", "1"],
  ] as const) {
    t.equal(imageReference(name, tag), undefined, JSON.stringify([name, tag]));
  }
  t.equal(fullRepository("nginx"), "docker.io/library/nginx");
  t.equal(fullRepository("a/b"), "docker.io/a/b");
  t.equal(fullRepository("localhost/a"), "localhost/a");
});
