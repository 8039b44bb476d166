import t from "tap";
import type { Pod } from "../../../kube/index.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { acceptedPod } from "../pods/pod_manifest.ts";
import { Departures } from "./departures.ts";

const plain = acceptedPod(
  { name: "app-1", namespace: "d" },
  { containers: [{ name: "main", image: "a" }] },
  0,
);

function pod(uid: string, status: "True" | "False"): Pod {
  const ready = { type: "Ready", status, reason: "", message: "", lastTransitionAt: 0 };
  return { ...plain, uid, phase: "Running", conditions: [ready] };
}

/** So many pods go and come back, one after the other, and what they took is known then. */
function rollOut(count: number, tookMs: number) {
  const clock = testClock();
  const departures = new Departures(clock);
  for (let n = 0; n < count; n++) {
    departures.begin(pod(`${n}`, "True"));
    departures.see(`${n}`, pod(`${n}`, "False"));
    clock.skip(tookMs);
    departures.written(`${n}`, tookMs / 2);
    departures.see(`${n}`, pod(`${n}`, "True"));
  }
  return { clock, departures };
}

/** Begins pods until no further one may go; answers how many went. */
function fill(departures: Departures, prefix: string, isOut: boolean): number {
  for (let n = 0; n < 1_000; n++) {
    if (!departures.mayBegin()) return n;
    departures.begin(pod(`${prefix}${n}`, "True"));
    if (isOut) departures.see(`${prefix}${n}`, pod(`${prefix}${n}`, "False"));
  }
  return 1_000;
}

t.test(
  "before anything was measured the budget alone bounds them, and after a change of the workload again",
  async (t) => {
    const { departures } = rollOut(10, 100);
    t.equal(fill(departures, "first-", true), 1_000);
    const { departures: measured } = rollOut(40, 100);
    t.equal(fill(measured, "first-", true), 16);
    measured.restart();
    t.equal(fill(measured, "second-", true), 1_000);
  },
);

t.test("whoever comes back, or is gone, or could not be begun, makes room", async (t) => {
  const { departures } = rollOut(40, 100);
  t.equal(fill(departures, "a", true), 16);
  t.equal(departures.see("a0", pod("a0", "False")), false);
  t.equal(departures.see("other", pod("other", "True")), false, "none of ours");
  t.equal(departures.see("a0", pod("a0", "True")), true);
  t.equal(departures.see("a1", undefined), true);
  t.equal(fill(departures, "b", false), 2);
  departures.ended("b0");
  departures.ended("a2");
  t.equal(fill(departures, "c", true), 1, "a2 is out, b0 never went");
});

t.test("pods that are out for much longer than is usual keep nobody waiting", async (t) => {
  const { clock, departures } = rollOut(40, 100);
  t.equal(fill(departures, "stuck-", true), 16);
  t.equal(departures.untilLateMs, 800);
  clock.skip(799);
  t.equal(departures.mayBegin(), false);
  clock.skip(1);
  t.equal(fill(departures, "next-", true), 16);
  t.equal(departures.see("stuck-0", pod("stuck-0", "True")), true, "late, but back");
  t.equal(departures.mayBegin(), false, "it was no longer counted");
});
