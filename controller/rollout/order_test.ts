import fc from "fast-check";
import t from "tap";
import { barePod } from "../_bare_pod.ts";
import { byActivityOnDemand, prioritised, scattered, sortedByActivity } from "./order.ts";
import { acceptedPod } from "./pod_manifest.ts";

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
      for (const { pod } of byActivityOnDemand(items, (item) => item.first)) {
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
