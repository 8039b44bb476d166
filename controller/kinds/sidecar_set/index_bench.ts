/** What an event of one of 5,000 pods costs a SidecarSet: `node --expose-gc controller/kinds/sidecar_set/index_bench.ts`. */

import { keyOf } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { printCost } from "../../../testkit/controller/event_cost.ts";
import { everyNamespace, injectedPod, sidecarSetOf } from "../../../testkit/controller/sidecar_set_model.ts";
import { PendingPods } from "../../rollout/writes/pending_pods.ts";
import { SidecarIndex } from "./classify.ts";
import { planSidecarSet } from "./plan.ts";
import { sidecarSetState } from "./state.ts";

const PODS = 5000;
const EVENTS = 20_000;

const set = sidecarSetOf({ updateStrategy: { maxUnavailable: 10 } });
const now = Date.UTC(2026, 0, 1);

function run(what: string, rollout: typeof set): void {
  const pods = new Map<string, Pod>();
  for (let count = 0; count < PODS; count++) {
    const name = `pod-${count}`;
    const ready = { type: "Ready", status: "True", reason: "", message: "", lastTransitionAt: now };
    const bare = injectedPod(set, name);
    const containerStatuses = bare.containers.map((one) => ({
      name: one.name,
      image: one.image,
      imageID: `sha256:${one.image}`,
      containerID: "",
      ready: true,
      restartCount: 0,
    }));
    const pod = { ...bare, phase: "Running", nodeName: "node", conditions: [ready], containerStatuses };
    pods.set(keyOf(pod), pod);
  }
  const inFlight = new PendingPods();
  const index = new SidecarIndex({
    pods: () => pods.values(),
    pod: (key) => pods.get(key),
    inFlight: () => inFlight,
  });
  const observed = {
    set: rollout,
    pods: index,
    namespaces: everyNamespace,
    revisions: [],
    revisionData: () => undefined,
  };
  const plan = () =>
    planSidecarSet(
      sidecarSetState({
        observed,
        options: { systemNamespace: "kruise-system" },
        now,
        random: Math.random,
        explains: false,
      }),
    );
  plan();
  const keys = [...pods.keys()];
  let next = 0;
  printCost(what, EVENTS, () => {
    const key = keys[next++ % keys.length] ?? "";
    const before = pods.get(key);
    if (before === undefined) return;
    const after = { ...before, resourceVersion: String(next) };
    pods.set(key, after);
    index.podChanged(before, after);
    plan();
  });
}

run("an event and its plan, all 5,000 pods up to date", set);
run("an event and its plan, no pod up to date and paused", {
  ...set,
  spec: {
    ...set.spec,
    containers: [{ name: "side", image: "side:2" }],
    updateStrategy: { paused: true },
  },
});
