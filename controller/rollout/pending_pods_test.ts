import fc from "fast-check";
import t from "tap";
import type { Pod } from "../../kube/index.ts";
import { PendingPods } from "./pending_pods.ts";
import { acceptedPod } from "./pod_manifest.ts";
import { PodsByNode } from "./pods_by_node.ts";

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

class Follower {
  /** Pods whose write is in flight, as it was told. */
  readonly told = new Map<string, number>();
  readonly pods = new PodsByNode(
    (a, b) => (a.name < b.name ? -1 : 1),
    (pod, change) => this.told.set(pod.name, (this.told.get(pod.name) ?? 0) + change),
  );

  /** What is in flight, by node. */
  seen(pending: PendingPods): unknown {
    this.pods.follow(pending);
    const nodes = [...this.pods.names()].sort().map((node) => {
      const flights = [...(this.pods.flightsOn(node) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
      return [node, flights];
    });
    const told = [...this.told].filter(([, count]) => count !== 0).sort(([a], [b]) => (a < b ? -1 : 1));
    return { nodes, told };
  }
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

t.test("property: whoever follows from change to change sees what one sees who looks at all", async (t) => {
  let looks = 0;
  const property = fc.property(fc.array(step, { minLength: 10, maxLength: 60 }), (steps) => {
    let pending = new PendingPods();
    const kept = new Follower();
    for (const one of steps) {
      if (one === "clear") pending.clear();
      else if (one === "another") pending = new PendingPods();
      else if (one === "much") {
        for (let count = 0; count < 10_000; count++) pending.set("much", podOf(7, count % 2, "update"));
      } else if (one === "look") {
        looks++;
        const [seen, all] = [kept.seen(pending), new Follower().seen(pending)].map((each) =>
          JSON.stringify(each),
        );
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
});

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
    const follower = new PodsByNode(() => 0);
    follower.follow(pending);
    follower.judged();
    pending.delete("in-flight/p7");
    pending.looked = 0;
    follower.follow(pending);
    t.equal(pending.looked, 1, `of ${size}`);
    t.same([...follower.touched], ["n7"]);
  }
});
