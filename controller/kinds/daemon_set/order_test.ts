/** The tables of spec daemonset 4.5, rule 25. */
import t from "tap";
import { compileSelector } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { foreignPod } from "../../../testkit/controller/daemon_set_model.ts";
import { type DaemonNode, newGroups } from "./classify.ts";
import { updateWindow } from "./order.ts";
import type { Daemon } from "./strategy.ts";

function daemon(name: string, updated: boolean, more: Partial<Daemon> = {}): Daemon {
  const pod: Pod = foreignPod(`app-${name}`, name);
  return {
    pod,
    updated,
    terminating: false,
    failed: false,
    available: true,
    preparing: false,
    busy: false,
    idle: true,
    broken: false,
    ...more,
  };
}

/** `new`, `old`, `pair`, `none`, `preparing`, `going` or `failed`. */
function place(name: string, what: string, labels: Record<string, string> = {}): DaemonNode {
  const daemons: Record<string, Daemon[]> = {
    new: [daemon(name, true)],
    old: [daemon(name, false)],
    pair: [daemon(name, false), daemon(name, true)],
    none: [],
    preparing: [daemon(name, false, { preparing: true })],
    going: [daemon(name, false, { terminating: true })],
    failed: [daemon(name, false, { failed: true })],
  };
  return {
    name,
    labels,
    eligibility: "run",
    daemons: daemons[what] ?? [],
    lost: [],
    toRelease: [],
    toAdopt: [],
  };
}

const noQuiet = { groups: newGroups(), count: () => 0, at: () => undefined };

function reached(places: DaemonNode[], partition: number, selector?: Record<string, string>): string {
  const nodeSelector = selector && compileSelector({ matchLabels: selector });
  const window = updateWindow(places, noQuiet, { partition, nodeSelector }, { pruneIneligible: false });
  return window.sites.map((site) => site.node.name).join();
}

t.test("new ones first, then empty ones, then old ones, each from the highest name", async (t) => {
  const places = [place("n1", "old"), place("n2", "new"), place("n3", "old")];
  t.equal(reached(places, 0), "n2,n3,n1");
  t.equal(reached([place("n1", "new"), place("n2", "old"), place("n3", "old")], 1), "n1,n3");
  t.equal(reached([place("n1", "old"), place("n2", "none"), place("n3", "old")], 1), "n2,n3");
  t.equal(reached([place("n1", "preparing"), place("n2", "old"), place("n3", "old")], 2), "n1");
  t.equal(reached([place("n1", "going"), place("n2", "old")], 1), "n1");
  t.equal(reached([place("n1", "failed"), place("n2", "old")], 1), "n1", "a failed pod is no old pod");
  t.equal(reached([place("n1", "pair"), place("n2", "old")], 1), "n1");
});

t.test("nodes without a pod count in their turn, also when nobody looks at them", async (t) => {
  const what = { n1: "none", n2: "old", n3: "none", n4: "going", n5: "none", n6: "preparing", n7: "new" };
  const places = Object.entries(what).map(([name, each]) => place(name, each));
  const isBare = (name: string) => ["n1", "n3", "n5"].includes(name);
  const groups = newGroups();
  for (const { name } of places) if (isBare(name)) groups.missing.add(name);
  const kept = places.filter(({ name }) => !isBare(name));
  const nodeSelector = undefined;
  for (let partition = 0; partition <= places.length + 1; partition++) {
    const [full, some] = [
      updateWindow(places, noQuiet, { partition, nodeSelector }, { pruneIneligible: false }),
      updateWindow(kept, { ...noQuiet, groups }, { partition, nodeSelector }, { pruneIneligible: false }),
    ];
    const names = full.sites.map((site) => site.node.name);
    t.same(
      some.sites.map((site) => site.node.name),
      names.filter((name) => !isBare(name)),
    );
    t.equal(some.missing, names.filter(isBare).length);
    t.equal(some.heldByPartition, full.heldByPartition);
    t.equal(some.quietDue, full.quietDue);
  }
});

t.test("a partition of more than there are nodes reaches none", async (t) => {
  t.equal(reached([place("n1", "old"), place("n2", "old")], 10), "");
});

t.test("only nodes that the selector matches", async (t) => {
  const canary = { canary: "true" };
  const places = [
    place("n1", "old", canary),
    place("n2", "new"),
    place("n3", "old", canary),
    place("n4", "old", canary),
  ];
  t.equal(reached(places, 2, canary), "n2,n4");
  const mixed = [place("n1", "old", canary), place("n2", "old")];
  t.equal(reached(mixed, 0, canary), "n1");
  const window = updateWindow(
    mixed,
    noQuiet,
    { partition: 0, nodeSelector: compileSelector({ matchLabels: canary }) },
    { pruneIneligible: false },
  );
  t.match(window, { heldBySelector: 1, heldByPartition: 0 });
});

t.test("nodes that are no longer wanted count unless the gate prunes them", async (t) => {
  const places: DaemonNode[] = [{ ...place("n1", "old"), eligibility: "keep" }, place("n2", "old")];
  const names = (pruneIneligible: boolean) =>
    updateWindow(places, noQuiet, { partition: 0, nodeSelector: undefined }, { pruneIneligible }).sites
      .length;
  t.equal(names(false), 2);
  t.equal(names(true), 1);
});

t.test(
  "a node whose pods go for good is one without a pod already in the pass that takes them",
  async (t) => {
    const leaving: DaemonNode = { ...place("n1", "old"), eligibility: "none" };
    const places = [leaving, place("n2", "old"), place("n3", "old"), place("n4", "old")];
    t.equal(reached(places, 3), "n1", "four nodes and partition 3: the place is taken");
    t.equal(reached(places, 2), "n1,n4");
  },
);
