import t from "tap";
import type { CloneSet } from "../../../crds/index.ts";
import { compileSelector } from "../../../kube/core/index.ts";
import { cloneSet, defaultOptions } from "../../../testkit/controller/clone_set_model.ts";
import type { StoredCount } from "./classify.ts";
import { statusOf, untilDeadline } from "./status.ts";
import { cloneSetStrategyOf } from "./strategy.ts";

const start = Date.parse("2030-01-01T00:00:00Z");

/** So many pods, all available, of which the first `updated` are at the revision. */
function countsOf(updated: number, replicas: number): Record<StoredCount, number> {
  return {
    replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
    updatedReplicas: updated,
    updatedReadyReplicas: updated,
    updatedAvailableReplicas: updated,
  };
}

/** A CloneSet with a deadline of ten seconds, whose status is carried from one look to the next. */
class Rollout {
  #set: CloneSet = cloneSet("web", { progressDeadlineSeconds: 10 });

  pause(paused: boolean): void {
    const updateStrategy = { type: "RollingUpdate" as const, rollingUpdate: { paused } };
    this.#set = { ...this.#set, spec: { ...this.#set.spec, updateStrategy } };
  }

  /** The reason of the condition at that second, with so many of the three pods updated. */
  at(second: number, updated: number, revision = "web-1"): string | undefined {
    const status = statusOf({
      set: this.#set,
      selector: compileSelector(this.#set.spec.selector),
      counts: countsOf(updated, this.#set.spec.replicas ?? 0),
      strategy: cloneSetStrategyOf(this.#set, defaultOptions),
      updateRevision: revision,
      currentRevision: "web-0",
      collisionCount: 0,
      failures: { scale: undefined, update: undefined },
      now: start + second * 1000,
    });
    this.#set = { ...this.#set, status };
    return status.conditions?.find(({ type }) => type === "Progressing")?.reason;
  }

  untilDeadline(second: number): number | undefined {
    const { status } = this.#set;
    return status && untilDeadline(this.#set, status, start + second * 1000);
  }
}

t.test("a rollout without a step ahead for longer than its deadline is marked", async (t) => {
  const rollout = new Rollout();
  t.equal(rollout.at(0, 0), "CloneSetUpdated");
  t.equal(rollout.at(9, 0), "CloneSetUpdated");
  t.equal(rollout.at(10, 0), "ProgressDeadlineExceeded");
});

t.test("the next look at a rollout is at its deadline, to the millisecond", async (t) => {
  const rollout = new Rollout();
  rollout.at(0, 0);
  t.equal(rollout.untilDeadline(4), 6_000);
  t.equal(rollout.at(9.999, 0), "CloneSetUpdated");
  t.equal(rollout.at(4 + 6, 0), "ProgressDeadlineExceeded");
});

t.test(
  "what a clock that was an hour ahead wrote puts off the deadline by no more than its length",
  async (t) => {
    const rollout = new Rollout();
    rollout.at(3_600, 0);
    t.equal(rollout.at(0, 0), "CloneSetUpdated");
    t.equal(rollout.untilDeadline(0), 10_000);
    t.equal(rollout.at(10, 0), "ProgressDeadlineExceeded");
  },
);

t.test("a step ahead starts the clock anew", async (t) => {
  const rollout = new Rollout();
  rollout.at(0, 0);
  t.equal(rollout.at(9, 1), "CloneSetUpdated");
  t.equal(rollout.at(18, 1), "CloneSetUpdated");
  t.equal(rollout.at(19, 1), "ProgressDeadlineExceeded");
});

t.test("once marked, steps ahead of the revision do not take it back, its end does", async (t) => {
  const rollout = new Rollout();
  rollout.at(0, 0);
  rollout.at(10, 0);
  t.equal(rollout.at(11, 1), "ProgressDeadlineExceeded");
  t.equal(rollout.at(12, 2), "ProgressDeadlineExceeded");
  t.equal(rollout.at(13, 3), "CloneSetAvailable");
});

t.test("a new revision and a resume take it back", async (t) => {
  const rollout = new Rollout();
  rollout.at(0, 0);
  rollout.at(10, 0);
  t.equal(rollout.at(11, 0, "web-2"), "CloneSetUpdated");
  t.equal(rollout.at(21, 0, "web-2"), "ProgressDeadlineExceeded");
  rollout.pause(true);
  t.equal(rollout.at(22, 0, "web-2"), "CloneSetPaused");
  rollout.pause(false);
  t.equal(rollout.at(60, 0, "web-2"), "CloneSetUpdated");
  t.equal(rollout.at(70, 0, "web-2"), "ProgressDeadlineExceeded");
});

t.test("work after a finished rollout has the whole deadline, however long it was finished", async (t) => {
  const rollout = new Rollout();
  t.equal(rollout.at(0, 3), "CloneSetAvailable");
  t.equal(rollout.at(3600, 2), "CloneSetUpdated");
  t.equal(rollout.at(3610, 2), "ProgressDeadlineExceeded");
});
