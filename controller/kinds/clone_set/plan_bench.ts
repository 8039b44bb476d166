/**
 * What one plan of a CloneSet costs while its pods are updated in place, by number of pods: the first after the change
 * of the template, the one that begins with the pods, and those after each few events.
 *
 *     npx node controller/kinds/clone_set/plan_bench.ts 1000 5000
 */
import { cloneSet, defaultOptions, Model } from "../../../testkit/controller/clone_set_model.ts";
import { IndexEvents } from "../../../testkit/controller/pod_index_model.ts";
import { PlanMemory } from "../../rollout/plan_memory.ts";
import { planCloneSet } from "./plan.ts";
import { cloneSetState } from "./state.ts";

const EVENTS_A_PASS = 10;

function measure(pods: number): object {
  const model = new Model(
    cloneSet("bench", {
      replicas: pods,
      updateStrategy: { rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: "10%" } },
    }),
  );
  const memory = new PlanMemory();
  const index = model.index();
  const events = new IndexEvents();
  const times: number[] = [];
  const pass = (): { changed: number; ms: number } => {
    events.follow(model, index);
    const observed = model.observed(index);
    const started = performance.now();
    const plan = planCloneSet(
      cloneSetState({
        explains: false,
        observed,
        options: defaultOptions,
        now: model.now,
        random: Math.random,
        memory,
      }),
    );
    const ms = performance.now() - started;
    for (const action of plan.actions) model.perform(action);
    model.set = { ...model.set, status: plan.status };
    return { changed: plan.actions.length, ms };
  };
  const kubelets = (most: number): number => {
    let moved = 0;
    for (const name of model.pods.keys()) if (moved < most && model.kubelet(name)) moved++;
    return moved;
  };
  for (let moved = 1; moved > 0; ) moved = pass().changed + kubelets(Number.POSITIVE_INFINITY);
  model.changeSpec((spec) => {
    spec.template = { ...spec.template, spec: { containers: [{ name: "main", image: "app:2" }] } };
  });
  const revision = pass();
  const first = pass();
  const before = process.cpuUsage();
  for (let moved = 1; moved > 0; ) {
    const { changed, ms } = pass();
    times.push(ms);
    model.now += 100;
    moved = changed + kubelets(EVENTS_A_PASS);
  }
  const used = process.cpuUsage(before);
  times.sort((a, b) => a - b);
  return {
    pods,
    "revision ms": round(revision.ms),
    "first pods ms": round(first.ms),
    plans: times.length,
    "p50 ms": round(times[times.length >> 1] ?? 0),
    "p90 ms": round(times[Math.floor(times.length * 0.9)] ?? 0),
    "all plans ms": round(times.reduce((sum, time) => sum + time, 0)),
    "process CPU ms": round((used.user + used.system) / 1000),
  };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

const sizes = process.argv.slice(2).map(Number);
console.table((sizes.length > 0 ? sizes : [1000, 5000]).map(measure));
