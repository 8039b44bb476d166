import fc from "fast-check";
import t from "tap";
import type { WorkloadSpread, WorkloadSpreadSubsetStatus } from "../../../crds/index.ts";
import { jsonEqual } from "../../../kube/core/index.ts";
import { spreadOf, subsetName } from "../../../testkit/controller/workload_spread_builder.ts";
import { type LedgerEntry, needsSize, record, subsetOfOrdinal } from "./ledger.ts";

const version = "versionIgnored";
const now = 1_767_225_600_000;
const at = "2026-01-01T00:00:00Z";

const creation = (key: string, of = version): LedgerEntry => ({ type: "creation", version: of, key });
const deletion = (pod: string, subset: string): LedgerEntry => ({
  type: "deletion",
  version,
  pod,
  uid: `uid-${pod}`,
  subset,
});

function take(spread: WorkloadSpread, entry: LedgerEntry, size = -1): [WorkloadSpread, string | undefined] {
  const { subsets, status } = record(spread, [entry], size, now);
  const [subset] = subsets;
  return [status === undefined ? spread : { ...spread, status }, subset];
}

function all(spread: WorkloadSpread, entries: readonly LedgerEntry[], size = -1) {
  const { subsets, status } = record(spread, entries, size, now);
  const after: WorkloadSpread = status === undefined ? spread : { ...spread, status };
  return { spread: after, subsets, rows: after.status?.versionedSubsetStatuses?.[version] };
}

function withRows(spread: WorkloadSpread, rows: WorkloadSpreadSubsetStatus[]): WorkloadSpread {
  return { ...spread, status: { observedGeneration: 1, versionedSubsetStatuses: { [version]: rows } } };
}

t.test("subsets are filled in order, and what is over all caps goes nowhere", async (t) => {
  const capped = all(
    spreadOf([1, 2]),
    ["p", "q", "r", "s"].map((key) => creation(key)),
  );
  t.strictSame(capped.subsets, ["a", "b", "b", undefined]);
  t.match(capped.rows, [
    { name: "a", replicas: 0, missingReplicas: 0, creatingPods: { p: at } },
    { name: "b", replicas: 0, missingReplicas: 0, creatingPods: { q: at, r: at } },
  ]);
  const open = all(
    spreadOf([1, undefined]),
    ["p", "q", "r"].map((key) => creation(key)),
  );
  t.strictSame(open.subsets, ["a", "b", "b"]);
  t.match(open.rows?.[1], { name: "b", missingReplicas: -1, creatingPods: undefined });
});

t.test("a creation that is asked about again is counted once", async (t) => {
  const { subsets, rows } = all(spreadOf([2, 1]), [creation("p"), creation("p"), creation("constructor")]);
  t.strictSame(subsets, ["a", "a", "a"]);
  t.match(rows?.[0], { missingReplicas: 0 });
});

t.test("a creation that is tried again after a while is waited for anew", async (t) => {
  const [first] = take(spreadOf([1]), creation("p"));
  t.equal(record(first, [creation("p")], -1, now + 14_000).status, undefined);
  const again = record(first, [creation("p")], -1, now + 15_000);
  t.strictSame(again.subsets, ["a"]);
  t.match(again.status?.versionedSubsetStatuses?.[version], [
    { missingReplicas: 0, creatingPods: { p: "2026-01-01T00:00:15Z" } },
  ]);
});

t.test("a creation whose place went with a lower cap before it came is placed anew", async (t) => {
  const full = all(spreadOf([2, undefined]), [creation("p"), creation("q")]).spread;
  const lowered = { ...full, spec: spreadOf([1, undefined]).spec };
  const { subsets, rows } = all(lowered, [creation("q"), creation("p")]);
  t.strictSame(subsets, ["b", "a"]);
  t.strictSame(rows?.[0]?.creatingPods, { p: at });
});

t.test("a deletion gives its place back once, and the replacement takes it", async (t) => {
  const full = { name: "a", replicas: 2, missingReplicas: 0 };
  const open = { name: "b", replicas: 3, missingReplicas: -1 };
  const spread = withRows(spreadOf([2, undefined]), [full, open]);
  const once = all(spread, [
    deletion("p", "a"),
    deletion("p", "a"),
    deletion("q", "b"),
    deletion("r", "gone"),
  ]);
  t.strictSame(once.subsets, ["a", "a", "b", undefined]);
  t.match(once.rows, [{ missingReplicas: 1, deletingPods: { p: at } }, { missingReplicas: -1 }]);
  t.strictSame(all(once.spread, [creation("s"), creation("u")]).subsets, ["a", "b"]);
});

t.test("a pod of the name of one that was being deleted has its place if nobody has it yet", async (t) => {
  const spread = withRows(spreadOf([1, 1]), [
    { name: "a", replicas: 1, missingReplicas: 0 },
    { name: "b", replicas: 0, missingReplicas: 1 },
  ]);
  const back = all(spread, [deletion("p", "a"), creation("p"), creation("q")]);
  t.strictSame(back.subsets, ["a", "a", "b"]);
  t.match(back.rows?.[0], {
    replicas: 0,
    missingReplicas: 0,
    creatingPods: { p: at },
    deletingPods: undefined,
  });
  const late = all(spread, [deletion("p", "a"), creation("q"), creation("p")]);
  t.strictSame(late.subsets, ["a", "a", "b"]);
});

t.test("a subset that has more pods than its cap takes none for the first that go", async (t) => {
  const spread = withRows(spreadOf([2, undefined]), [{ name: "a", replicas: 3, missingReplicas: 0 }]);
  const { subsets } = all(spread, [deletion("p", "a"), creation("x"), deletion("q", "a"), creation("y")]);
  t.strictSame(subsets, ["a", "b", "a", "a"]);
});

t.test("a pod that goes, and was there before the ledger, makes no room beyond the cap", async (t) => {
  const entries = [deletion("old", "a"), creation("p"), creation("q"), creation("r")];
  const { subsets, rows } = all(spreadOf([2, undefined]), entries);
  t.strictSame(subsets, ["a", "a", "a", "b"]);
  t.match(rows?.[0], { missingReplicas: 0, deletingPods: { old: at } });
});

t.test("caps hold from the moment that they change, whatever the ledger still says", async (t) => {
  const rows = [{ name: "a", replicas: 2, missingReplicas: 3 }];
  t.strictSame(all(withRows(spreadOf([2, undefined]), rows), [creation("p")]).subsets, ["b"]);
  const unlimited = all(withRows(spreadOf([undefined]), rows), [creation("p")]);
  t.strictSame(unlimited.subsets, ["a"]);
  t.match(unlimited.rows?.[0], { missingReplicas: 3 }, "nothing is written for it");
});

t.test("closed subsets are passed over, in the ledger of the version alone", async (t) => {
  const closed = {
    name: "a",
    replicas: 0,
    missingReplicas: 2,
    conditions: [
      {
        type: "Schedulable",
        status: "False",
        reason: "PodUnschedulable",
        message: "",
        lastTransitionTime: at,
      } as const,
    ],
  };
  const spread = withRows(spreadOf([2, undefined]), [closed]);
  t.strictSame(all(spread, [creation("p")]).subsets, ["b"]);
  t.strictSame(take(spread, creation("p", "other"))[1], "a");
});

t.test("percentages: of the size at first, then what the controller made of them", async (t) => {
  const spread = spreadOf(["34%", "33%", "33%"]);
  const one = creation("p");
  t.ok(needsSize(spread, one));
  const keys = ["p", "q", "r", "s", "u", "v", "w"].map((key) => creation(key));
  t.strictSame(all(spread, keys, 4).subsets, ["a", "a", "b", "b", "c", "c", undefined]);
  t.strictSame(all(spread, keys.slice(0, 1), -1).subsets, [undefined], "nothing of a size that is not known");
  const worked = withRows(
    spread,
    ["a", "b", "c"].map((name) => ({ name, replicas: 0, missingReplicas: 1 })),
  );
  t.notOk(needsSize(worked, one));
  t.ok(needsSize({ ...worked, metadata: { ...worked.metadata, generation: 2 } }, one));
  t.ok(needsSize(worked, creation("p", "other")));
  t.notOk(needsSize(spreadOf([3, undefined]), one));
  t.strictSame(all(worked, keys.slice(0, 4), -1).subsets, ["a", "b", "c", undefined]);
});

t.test("pods of StatefulSets are placed by ordinal", async (t) => {
  const ordinals = [0, 4, 5, 9, 10, 99];
  const of = (spread: WorkloadSpread) => ordinals.map((ordinal) => subsetOfOrdinal(spread, ordinal));
  t.strictSame(of(spreadOf([5, 5, undefined])), ["a", "a", "b", "b", "c", "c"]);
  t.strictSame(of(spreadOf([5, 5])), ["a", "a", "b", "b", undefined, undefined]);
  const condition = { reason: "R", message: "", lastTransitionTime: at };
  const status = {
    subsetStatuses: [
      {
        name: "a",
        replicas: 0,
        missingReplicas: 5,
        conditions: [{ type: "Schedulable", status: "False" as const, ...condition }],
      },
    ],
  };
  t.strictSame(of(spreadOf([5, 5, undefined], { status })), ["b", "b", "c", "c", "c", "c"]);
});

t.test("percentages place pods as the numbers that they amount to", async (t) => {
  const entry = fc.oneof(
    fc.nat(7).map((number) => creation(`n${number}`)),
    fc.tuple(fc.nat(7), fc.nat(2)).map(([number, index]) => deletion(`p${number}`, subsetName(index))),
  );
  const subset = fc.record({ cap: fc.option(fc.nat(10), { nil: undefined }), replicas: fc.nat(8) });
  const property = fc.property(
    fc.array(subset, { minLength: 1, maxLength: 3 }),
    fc.array(fc.array(entry, { minLength: 1, maxLength: 4 }), { maxLength: 12 }),
    (subsets, batches) => {
      const rows = subsets.map(({ cap, replicas }, index) => ({
        name: subsetName(index),
        replicas,
        missingReplicas: cap === undefined ? -1 : Math.max(0, cap - replicas),
      }));
      const caps = subsets.map(({ cap }) => cap);
      let numbers = withRows(spreadOf(caps), rows);
      let shares = withRows(spreadOf(caps.map((cap) => (cap === undefined ? cap : `${cap * 10}%`))), rows);
      return batches.every((batch) => {
        const [number, share] = [all(numbers, batch, 10), all(shares, batch, 10)];
        [numbers, shares] = [number.spread, share.spread];
        return jsonEqual([number.subsets, number.rows], [share.subsets, share.rows]);
      });
    },
  );
  fc.assert(property, { seed: 47, numRuns: 3000 });
  t.pass("for 3000 histories");
});

/** Creations that read and write one after the other in any order; a write of another version than was read is refused. */
interface Schedule {
  readonly spread: WorkloadSpread;
  readonly written: number;
  /** By creation: not begun, the version that was read, or where the pod went. */
  readonly pods: readonly (
    | "new"
    | { read: WorkloadSpread; version: number }
    | { subset: string | undefined }
  )[];
}

function stepsOf(schedule: Schedule): Schedule[] {
  return schedule.pods.flatMap((pod, index) => {
    const becomes = (next: Schedule["pods"][number], changes: Partial<Schedule> = {}): Schedule[] => [
      { ...schedule, ...changes, pods: schedule.pods.map((each, at) => (at === index ? next : each)) },
    ];
    if (pod === "new") return becomes({ read: schedule.spread, version: schedule.written });
    if ("subset" in pod) return [];
    const { subsets, status } = record(pod.read, [creation(`p${index}`)], -1, now);
    const [subset] = subsets;
    if (status === undefined) return becomes({ subset });
    if (pod.version !== schedule.written) return becomes("new");
    return becomes({ subset }, { spread: { ...pod.read, status }, written: schedule.written + 1 });
  });
}

t.test(
  "in every order of up to four creations no subset gets more pods than it may, and none is lost",
  async (t) => {
    let ends = 0;
    for (const caps of [0, 1, 2, 3].flatMap((a) => [0, 1, 2, undefined].map((b) => [a, b] as const))) {
      for (const count of [1, 2, 3, 4]) {
        const open: Schedule[] = [
          { spread: spreadOf(caps), written: 0, pods: Array.from({ length: count }, () => "new" as const) },
        ];
        const seen = new Set<string>();
        for (let schedule = open.pop(); schedule !== undefined; schedule = open.pop()) {
          const id = JSON.stringify([schedule.spread.status, schedule.pods.map(idOf)]);
          if (seen.has(id)) continue;
          seen.add(id);
          const steps = stepsOf(schedule);
          open.push(...steps);
          if (steps.length > 0) continue;
          ends++;
          const got = schedule.pods.map((pod) => (pod !== "new" && "subset" in pod ? pod.subset : "?"));
          const inSubset = (name: string) => got.filter((subset) => subset === name).length;
          const room = caps[1] === undefined ? count : Math.min(count, caps[0] + caps[1]);
          if (inSubset("a") !== Math.min(count, caps[0])) t.fail(`${caps} ${got}`);
          if (inSubset("a") + inSubset("b") !== room) t.fail(`${caps} ${got}`);
        }
      }
    }
    t.ok(ends > 100, `${ends} ends were looked at`);
  },
);

function idOf(pod: Schedule["pods"][number]): unknown {
  if (pod === "new") return pod;
  return "subset" in pod ? (pod.subset ?? null) : pod.version;
}

t.test("whatever happens, room and pods add up to the cap", async (t) => {
  const operation = fc.tuple(fc.constantFrom("create", "delete"), fc.nat(9));
  const caps = fc.array(fc.option(fc.nat(4), { nil: undefined }), { minLength: 1, maxLength: 3 });
  const property = fc.property(caps, fc.array(operation, { maxLength: 40 }), (caps, operations) => {
    let spread = spreadOf(caps);
    const places = new Map<string, string>();
    for (const [type, number] of operations) {
      const pod = `p${number}`;
      const place = places.get(pod);
      if (type === "create" && place === undefined) {
        const [next, subset] = take(spread, creation(pod));
        spread = next;
        if (subset !== undefined) places.set(pod, subset);
      } else if (type === "delete" && place !== undefined) {
        [spread] = take(spread, deletion(pod, place));
      }
      for (const [index, cap] of caps.entries()) {
        if (cap === undefined) continue;
        const held = [...places.values()].filter((subset) => subset === subsetName(index)).length;
        if (held > cap) return false;
        const row = spread.status?.versionedSubsetStatuses?.[version]?.[index];
        if (row === undefined) continue;
        const { creatingPods = {}, deletingPods = {}, missingReplicas } = row;
        const taken = Object.keys(creatingPods).length - Object.keys(deletingPods).length;
        if (missingReplicas !== Math.max(0, Math.min(cap, cap - taken))) return false;
      }
    }
    return true;
  });
  fc.assert(property, { seed: 45, numRuns: 3000 });
  t.pass("for 3000 histories");
});

t.test("entries that are recorded together are recorded as one after the other", async (t) => {
  const entry = fc.oneof(
    fc.nat(7).map((number) => creation(`p${number}`)),
    fc.nat(7).map((number) => creation(`p${number}`, "other")),
    fc.tuple(fc.nat(7), fc.nat(2)).map(([number, index]) => deletion(`p${number}`, subsetName(index))),
  );
  const caps = fc.array(fc.option(fc.nat(3), { nil: undefined }), { minLength: 1, maxLength: 3 });
  const entries = fc.array(entry, { maxLength: 20 });
  const property = fc.property(caps, entries, fc.nat(20), (caps, entries, at) => {
    const { spread } = all(spreadOf(caps), entries.slice(0, at));
    const { subsets, status = spread.status } = record(spread, entries.slice(at), -1, now);
    let current = spread;
    const places = entries.slice(at).map((each) => {
      const [next, subset] = take(current, each);
      current = next;
      return subset;
    });
    return jsonEqual([subsets, status], [places, current.status]);
  });
  fc.assert(property, { seed: 46, numRuns: 3000 });
  t.pass("for 3000 batches");
});
