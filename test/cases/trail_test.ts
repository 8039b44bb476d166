import t from "tap";
import type { Condition, Item } from "../cluster/api.ts";
import { courseOf, extremesOf, type Moment } from "./trail.ts";

interface PodShape {
  ready?: boolean;
  since?: number;
  gate?: boolean;
  deleting?: boolean;
  image?: string;
}

function pod(name: string, shape: PodShape = {}): Item {
  const { ready = true, since = 0, gate = true, deleting = false, image = "nginx:1.20" } = shape;
  const conditions: Condition[] = [
    {
      type: "Ready",
      status: ready ? "True" : "False",
      lastTransitionTime: new Date(since).toISOString(),
    },
    { type: "InPlaceUpdateReady", status: gate ? "True" : "False" },
  ];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      uid: `uid-${name}`,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: "",
      ...(deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    spec: { containers: [{ name: "main", image }] },
    status: { phase: "Running", conditions },
  };
}

function moments(...entries: [number, string, Item][]): Moment[] {
  return entries.map(([at, type, object]) => ({ at, type, object }));
}

t.test("extremesOf() counts after every change, not only at the end", async (t) => {
  const seen = moments(
    [1, "ADDED", pod("a")],
    [1, "ADDED", pod("b")],
    [1, "ADDED", pod("c")],
    [2, "MODIFIED", pod("a", { gate: false })],
    [3, "MODIFIED", pod("b", { deleting: true })],
    [4, "ADDED", pod("d", { ready: false })],
    [5, "DELETED", pod("b", { deleting: true })],
    [6, "MODIFIED", pod("a")],
    [7, "MODIFIED", pod("d")],
  );
  const extremes = extremesOf(seen, { from: 3 });
  t.equal(extremes.leastAvailable, 1);
  t.equal(extremes.leastReady, 1);
  t.equal(extremes.mostPresent, 3);
  t.match(extremes.worst, /^4: MODIFIED b with 1 of 2/);
});

t.test("extremesOf() counts a pod as available only after minReadySeconds", async (t) => {
  const seen = moments(
    [10_000, "ADDED", pod("a", { since: 0 })],
    [10_000, "ADDED", pod("b", { since: 9_000 })],
  );
  const options = { from: 1, minReadySeconds: 5 };
  t.equal(extremesOf(seen, options).leastAvailable, 1);
  const later = [...seen, ...moments([14_000, "MODIFIED", pod("a", { since: 0 })])];
  t.equal(extremesOf(later, { ...options, from: 2 }).leastAvailable, 2);
});

t.test("extremesOf() takes what was there at the start as one moment", async (t) => {
  const seen = moments(
    [1, "PRESENT", pod("a")],
    [1, "PRESENT", pod("b")],
    [2, "MODIFIED", pod("a", { ready: false })],
  );
  t.equal(extremesOf(seen).leastAvailable, 1);
  t.equal(extremesOf(seen.slice(0, 2)).leastAvailable, 2);
});

t.test("courseOf() lists the values of one pod without repetitions", async (t) => {
  const seen = moments(
    [1, "ADDED", pod("a", { image: "nginx:1.20" })],
    [2, "ADDED", pod("b", { image: "other" })],
    [3, "MODIFIED", pod("a", { image: "nginx:1.20", ready: false })],
    [4, "MODIFIED", pod("a", { image: "nginx:1.21" })],
    [5, "DELETED", pod("a", { image: "last" })],
  );
  t.same(
    courseOf(seen, "a", (item) => item.spec?.containers?.[0]?.image),
    ["nginx:1.20", "nginx:1.21"],
  );
});
