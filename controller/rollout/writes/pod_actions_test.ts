import t from "tap";
import type { Pod } from "../../../kube/index.ts";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import type { InPlaceChange } from "../in_place/change.ts";
import { startInPlace } from "../in_place/update.ts";
import { backFromDeletion, beforeUpdate, preparingDelete } from "../lifecycle/hooks.ts";
import { STATE_LABEL } from "../lifecycle/lifecycle.ts";
import { gateOn } from "../pods/readiness.ts";
import type { PodPatchAction } from "./actions.ts";
import { deletePod, patchPod, writePod } from "./pod_actions.ts";

const now = Date.UTC(2026, 0, 1);
const options = { verticalScaling: true, resizeSubresource: true, resetsManagers: false };
const target = { revision: "app-2", labels: {}, graceSeconds: 0, lifecycle: true, lean: false };
const nothing: InPlaceChange = { images: {}, resources: {}, refMetadata: {}, metadataPatch: undefined };
const hook = { labelsHandler: { held: "true" }, markPodNotReady: true };

function serving(changes: Partial<Pod> = {}): Pod {
  const gates = ["InPlaceUpdateReady", "KruisePodReady"];
  const conditions = ["Ready", "ContainersReady", ...gates].map((type) => ({
    type,
    status: "True",
    reason: "",
    message: "",
    lastTransitionAt: now - 60_000,
  }));
  return barePod("app-0", {
    phase: "Running",
    labels: { held: "true" },
    readinessGates: gates,
    containers: [{ name: "main", image: "web:1", resources: {}, env: [], resizePolicy: {} }],
    containerStatuses: [
      { name: "main", image: "web:1", imageID: "1", containerID: "c", ready: true, restartCount: 0 },
    ],
    conditions,
    ...changes,
  });
}

function updated(change: Partial<InPlaceChange>, how: Partial<typeof target> = {}) {
  return (pod: Pod): PodPatchAction => {
    const write = startInPlace(pod, { ...nothing, ...change }, { ...target, ...how }, options, now);
    return writePod(pod, write, "update");
  };
}

function held(pod: Pod): PodPatchAction {
  const before = beforeUpdate({ pod, state: "Normal" }, hook, now);
  if (before === undefined || !("action" in before)) throw new Error("the hook does not take the pod over");
  return before.action;
}

function asksBudget({ effects }: PodPatchAction): boolean {
  return effects.some(({ type }) => type === "spend budget");
}

const takesOut: Readonly<Record<string, (pod: Pod) => PodPatchAction>> = {
  "an update of an image": updated({ images: { main: "web:2" } }),
  "an update of an image without the gate": updated({ images: { main: "web:2" } }, { lean: true }),
  "an update of metadata alone": updated({ metadataPatch: { labels: { round: "2" } } }),
  "an update with a grace period": updated({ images: { main: "web:2" } }, { graceSeconds: 5 }),
  "a hook before an update that marks the pod": held,
  "a hook before a deletion that marks the pod": (pod) =>
    patchPod(pod, preparingDelete(pod, hook, now), now, "scale"),
};

for (const [name, write] of Object.entries(takesOut)) {
  t.test(`${name} asks the budget before its first request`, (t) => {
    const pod = serving();
    t.match(write(pod).effects[0], { type: "spend budget", pod: { name: pod.name } });
    t.end();
  });

  t.test(`${name} costs nothing where the pod serves nobody`, (t) => {
    t.notOk(asksBudget(write(serving({ phase: "Pending" }))));
    t.end();
  });
}

const leavesIn: Readonly<Record<string, (pod: Pod) => PodPatchAction>> = {
  "a resize that restarts nothing": updated({ resources: { main: { requests: { cpu: "2" } } } }),
  "a gate that is opened": (pod) => patchPod(pod, { conditions: [gateOn()] }, now, "refresh"),
  "a hook that leaves the pod ready": (pod) =>
    patchPod(pod, preparingDelete(pod, { ...hook, markPodNotReady: false }, now), now, "scale"),
};

for (const [name, write] of Object.entries(leavesIn)) {
  t.test(`${name} asks nobody`, (t) => {
    t.notOk(asksBudget(write(serving())));
    t.end();
  });
}

function prioritiesOf({ effects }: PodPatchAction): unknown[] {
  return effects.flatMap((effect) => ("priority" in effect ? [effect.priority] : []));
}

t.test(
  "what brings a pod back is urgent, what lets a new one serve is prompt, what begins is neither",
  (t) => {
    const update = updated({ images: { main: "web:2" } })(serving());
    t.same(prioritiesOf(update), ["high", "urgent"]);
    const open = (pod: Pod): PodPatchAction => patchPod(pod, { conditions: [gateOn()] }, now, "refresh");
    const out = serving().conditions.map((each) => ({ ...each, status: "False" }));
    t.same(prioritiesOf(open(serving({ conditions: out }))), ["urgent"]);
    t.same(prioritiesOf(open(serving({ phase: "Pending", conditions: [] }))), ["prompt"]);
    t.end();
  },
);

t.test(
  "a hook that is asked takes the pod out for whoever counts: it waits with the others, and is withdrawn with them",
  (t) => {
    const quiet = { ...hook, markPodNotReady: false };
    const deletion = patchPod(serving(), preparingDelete(serving(), quiet, now), now, "scale");
    t.match(deletion, { lane: "begin", leaves: false });
    t.same(prioritiesOf(deletion), ["high"]);
    const before = beforeUpdate({ pod: serving(), state: "Normal" }, quiet, now);
    t.match(before, { action: { lane: "begin", leaves: false } });
    const asked = serving({ labels: { held: "true", [STATE_LABEL]: "PreparingDelete" } });
    t.match(patchPod(asked, backFromDeletion(asked, now), now, "scale"), { lane: "finish" });
    t.end();
  },
);

t.test("a pod that is out of service and may come back is deleted only as it was seen", (t) => {
  const seen = (changes: Partial<Pod>) => {
    const [effect] = deletePod(serving({ resourceVersion: "7", ...changes })).effects;
    return effect?.type === "delete" ? effect.resourceVersion : "no deletion";
  };
  const inState = (state: string) => ({ labels: { [STATE_LABEL]: state } });
  t.equal(seen({}), undefined);
  t.equal(seen(inState("Normal")), undefined);
  t.equal(seen({ conditions: [] }), "7", "not ready");
  for (const state of ["PreparingNormal", "PreparingUpdate", "Updating", "Updated"])
    t.equal(seen(inState(state)), "7", state);
  t.equal(seen(inState("PreparingDelete")), undefined, "on its way out");
  t.end();
});
