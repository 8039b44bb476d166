import fc from "fast-check";
import t from "tap";
import type { Pod } from "../../../kube/index.ts";
import { PendingPods } from "../writes/pending_pods.ts";
import { NodePods } from "./node_pods.ts";
import { PodIndex } from "./pod_index.ts";
import { acceptedPod } from "./pod_manifest.ts";

function newPod(number: number, node: number): Pod {
  const metadata = { name: `p${number}`, namespace: "default" };
  return acceptedPod(metadata, { nodeName: `n${node}`, containers: [{ name: "main", image: "a" }] }, 0);
}

const kinds = ["create", "delete", "update"] as const;

function podOf(number: number, node: number, kind: (typeof kinds)[number]): Pod {
  const pod = newPod(number, node);
  if (kind === "create") return pod;
  return { ...pod, uid: `uid-${number}`, deletionAt: kind === "delete" ? 1 : undefined };
}

type Seen = readonly [slot: string, writes: readonly [id: string, pod: Pod][]];

/** An index whose classes are the writes in flight themselves, by node. */
function newIndex(pending: () => PendingPods) {
  const looked: string[] = [];
  const index = new PodIndex<void, object, never, Seen>(
    new NodePods(
      () => 0,
      () => false,
    ),
    pending,
    {
      slots: () => [],
      basisOf: () => "",
      classify: ({ slot, writes }) => {
        looked.push(slot);
        if (writes.size === 0) return undefined;
        const entry: Seen = [slot, [...writes].sort(([a], [b]) => (a < b ? -1 : 1))];
        return { groups: [], counts: [], entry, atRest: false, expires: false };
      },
    },
    {},
  );
  return { index, looked, seen: () => JSON.stringify([...index.refresh().every()]) };
}

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ pod: fc.nat(5), node: fc.nat(3), kind: fc.constantFrom(...kinds) }),
  },
  { weight: 3, arbitrary: fc.record({ gone: fc.nat(5), kind: fc.constantFrom(...kinds) }) },
  { weight: 2, arbitrary: fc.constant("look" as const) },
  { weight: 1, arbitrary: fc.constantFrom("clear" as const, "another" as const, "much" as const) },
);

t.test(
  "property: an index that follows from change to change has what one has that is made anew",
  async (t) => {
    let looks = 0;
    const property = fc.property(fc.array(step, { minLength: 10, maxLength: 60 }), (steps) => {
      let pending = new PendingPods();
      const kept = newIndex(() => pending);
      for (const one of steps) {
        if (one === "clear") pending.clear();
        else if (one === "another") pending = new PendingPods();
        else if (one === "much") {
          for (let count = 0; count < 10_000; count++) pending.set("much", podOf(7, count % 2, "update"));
        } else if (one === "look") {
          looks++;
          const [seen, all] = [kept.seen(), newIndex(() => pending).seen()];
          if (seen !== all) throw new Error(`kept: ${seen}\nall: ${all}`);
        } else if ("gone" in one) pending.delete(podOf(one.gone, 0, one.kind).uid);
        else {
          const pod = podOf(one.pod, one.node, one.kind);
          pending.set(pod.uid, pod);
        }
        const pods = [...pending.values()];
        const created = pods.filter(({ uid }) => uid.startsWith("in-flight/")).length;
        const deleted = pods.filter(({ deletionAt }) => deletionAt !== undefined).length;
        const counts = { create: created, delete: deleted, update: pods.length - created - deleted };
        if (JSON.stringify(pending.counts) !== JSON.stringify(counts)) throw new Error("miscounted");
      }
    });
    fc.assert(property, { seed: 20_261_121, numRuns: 700 });
    t.ok(looks > 2000, `${looks} looks`);
  },
);

class Watched extends PendingPods {
  looked = 0;

  override get(id: string): Pod | undefined {
    this.looked++;
    return super.get(id);
  }

  override keys(): MapIterator<string> {
    this.looked += this.size;
    return super.keys();
  }
}

t.test("one more write in flight is one look, however many there are", async (t) => {
  for (const size of [100, 3000]) {
    const pending = new Watched();
    for (let number = 0; number < size; number++) pending.set(`in-flight/p${number}`, newPod(number, number));
    const { index, looked } = newIndex(() => pending);
    index.refresh();
    pending.delete("in-flight/p7");
    pending.looked = 0;
    looked.length = 0;
    index.refresh();
    t.equal(pending.looked, 1, `of ${size}`);
    t.same(looked, ["n7"]);
  }
});

t.test(
  "a view is of one version of the index: whatever happens to that makes reading it an error",
  async (t) => {
    const pending = new PendingPods();
    const pod = newPod(1, 1);
    pending.set(pod.uid, pod);
    const { index } = newIndex(() => pending);
    const stale = { message: /^this view of the pods is stale/ };
    const happens: [what: string, happen: () => void][] = [
      ["a pod changed", () => index.podChanged(undefined, newPod(2, 2))],
      ["a slot was touched", () => index.touch("n1")],
      ["another refresh", () => void index.refresh()],
    ];
    for (const [what, happen] of happens) {
      const view = index.refresh();
      const begun = view.every()[Symbol.iterator]();
      t.equal([...view.every()].length, 1, "good until then");
      t.equal([...view.entries(["n1"])].length, 1);
      t.equal(view.at("n1")?.[0], "n1");
      t.same(view.pods(), [pod]);
      happen();
      t.throws(() => view.groups, stale, what);
      t.throws(() => view.count("never" as never), stale, what);
      t.throws(() => view.counted, stale, what);
      t.throws(() => view.at("n1"), stale, what);
      t.throws(() => [...view.entries(["n1"])], stale, what);
      t.throws(() => [...view.every()], stale, what);
      t.throws(() => begun.next(), stale, `${what}, after the reading began`);
      t.throws(() => view.pods(), stale, what);
    }
  },
);
