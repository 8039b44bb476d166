import fc from "fast-check";
import t from "tap";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { acceptedPod } from "../pods/pod_manifest.ts";
import { ByActivity, prioritised, scattered, sortedByActivity } from "./order.ts";

const labelled = (name: string, labels: Record<string, string> = {}) => ({ name, labels });

t.test("priority by weight is stable and adds up", async (t) => {
  const pods = [
    labelled("a"),
    labelled("b", { tier: "x" }),
    labelled("c", { tier: "x", zone: "z" }),
    labelled("d"),
  ];
  const order = prioritised(pods, {
    weightPriority: [
      { weight: 50, matchSelector: { matchLabels: { tier: "x" } } },
      { weight: 30, matchSelector: { matchLabels: { zone: "z" } } },
    ],
  });
  t.same(
    order.map((pod) => pod.name),
    ["c", "b", "a", "d"],
  );
});

t.test("priority by order: larger numbers first, pods without a key before all", async (t) => {
  const pods = [
    labelled("5", { o: "o-5" }),
    labelled("20", { o: "o-20" }),
    labelled("none"),
    labelled("10", { o: "o-10" }),
  ];
  t.same(
    prioritised(pods, { orderPriority: [{ orderedKey: "o" }] }).map((pod) => pod.name),
    ["none", "20", "10", "5"],
  );
});

t.test("scatter: three of ten are the 1st, 6th and 10th", async (t) => {
  const pods = Array.from({ length: 10 }, (_, index) =>
    labelled(`p${index}`, index < 3 ? { foo: "bar" } : {}),
  );
  const order = scattered(pods, pods, [{ key: "foo", value: "bar" }]);
  t.same(
    order.flatMap((pod, index) => (pod.labels["foo"] ? [index + 1] : [])),
    [1, 6, 10],
  );
});

t.test("scatter loses and doubles nothing", async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ a: fc.boolean(), b: fc.boolean(), updated: fc.boolean() }), { maxLength: 30 }),
      (shape) => {
        const all = shape.map((one, index) => ({
          labels: { ...(one.a ? { k: "a" } : {}), ...(one.b ? { l: "b" } : {}) } as Record<string, string>,
          name: `p${index}`,
          updated: one.updated,
        }));
        const candidates = all.filter((pod) => !pod.updated);
        const order = scattered(candidates, all, [
          { key: "k", value: "a" },
          { key: "l", value: "b" },
        ]);
        return (
          order.length === candidates.length &&
          new Set(order).size === candidates.length &&
          order.every((pod) => candidates.includes(pod))
        );
      },
    ),
    { numRuns: 2000, seed: 3 },
  );
  t.pass();
});

t.test("the order by activity does not depend on the order that pods come in", async (t) => {
  const pod = fc
    .record({
      name: fc.string({ minLength: 1, maxLength: 2, unit: "grapheme-ascii" }),
      node: fc.constantFrom("", "n"),
      phase: fc.constantFrom("Pending", "Running", "Unknown"),
      ready: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
      created: fc.integer({ min: 0, max: 3 }),
    })
    .map((one) => ({
      ...acceptedPod({ name: one.name, namespace: "d" }, { containers: [] }, one.created),
      nodeName: one.node,
      phase: one.phase,
      conditions:
        one.ready === undefined
          ? []
          : [{ type: "Ready", status: "True", reason: "", message: "", lastTransitionAt: one.ready }],
    }));
  const pods = fc
    .uniqueArray(pod, { maxLength: 6, selector: ({ name }) => name })
    .map((all) => all.map((one) => ({ pod: one })));
  const shuffled = <T>(all: T[]) => fc.shuffledSubarray(all, { minLength: all.length });
  const names = (all: readonly { pod: { name: string } }[]) => all.map((one) => one.pod.name);
  fc.assert(
    fc.property(
      pods.chain((all) => fc.tuple(fc.constant(all), shuffled(all))),
      ([all, other]) => {
        t.same(names(sortedByActivity(other)), names(sortedByActivity(all)));
      },
    ),
    { numRuns: 1000, seed: 5 },
  );
});

t.test("on demand the order is the one that sorting gives, as far as it is read", async (t) => {
  const shapes = fc.array(
    fc.record({
      node: fc.constantFrom("", "n1"),
      phase: fc.constantFrom("Pending", "Running"),
      readyAt: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
      restartCount: fc.nat(2),
      createdAt: fc.nat(2),
      first: fc.boolean(),
    }),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(shapes, fc.nat(45), (all, read) => {
      const items = all.map((one, index) => ({
        first: one.first,
        pod: barePod(`p${index}`, {
          nodeName: one.node,
          phase: one.phase,
          createdAt: one.createdAt,
          conditions:
            one.readyAt === undefined
              ? []
              : [{ type: "Ready", status: "True", reason: "", message: "", lastTransitionAt: one.readyAt }],
          containerStatuses: [
            {
              name: "c",
              image: "",
              imageID: "",
              containerID: "",
              ready: true,
              restartCount: one.restartCount,
            },
          ],
        }),
      }));
      const sorted = [
        ...sortedByActivity(items.filter((item) => item.first)),
        ...sortedByActivity(items.filter((item) => !item.first)),
      ];
      const got: string[] = [];
      for (const { pod } of new ByActivity((item) => item.first, items)) {
        if (got.length >= read) break;
        got.push(pod.name);
      }
      t.same(
        got,
        sorted.slice(0, read).map(({ pod }) => pod.name),
      );
    }),
    { seed: 20_261_121, numRuns: 300 },
  );
});

t.test("property: while items come and go, what is read is the beginning of the sorted order", async (t) => {
  const pod = (name: number, phase: string) => ({
    pod: barePod(`p${name}`, { phase }),
    first: name % 5 === 0,
  });
  const step = fc.record({
    do: fc.constantFrom("add", "add", "delete", "read"),
    which: fc.nat(60),
    phase: fc.constantFrom("Pending", "Running"),
  });
  let read = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      const order = new ByActivity<ReturnType<typeof pod>>((item) => item.first);
      const present = new Map<number, ReturnType<typeof order.add>>();
      for (const { do: what, which, phase } of steps) {
        const placed = present.get(which);
        if (what === "read") {
          const items = [...present.values()].map(({ item }) => item);
          const sorted = [
            ...sortedByActivity(items.filter((item) => item.first)),
            ...sortedByActivity(items.filter((item) => !item.first)),
          ].slice(0, which);
          const got: string[] = [];
          for (const item of order) if (got.push(item.pod.name) >= which) break;
          read += got.length;
          if (sorted.some((item, index) => item.pod.name !== got[index])) return false;
          if (order.size !== items.length) return false;
        } else if (placed !== undefined) {
          order.delete(placed);
          present.delete(which);
        } else if (what === "add") present.set(which, order.add(pod(which, phase)));
      }
      return true;
    }),
    { seed: 20_261_121, numRuns: 2_000 },
  );
  t.ok(read > 1_000, `${read} items were read`);
});
