/**
 * What one event costs a StatefulSet of many pods, from the caches to the plan: of a pod while the set is at rest, held by
 * its partition, or in the midst of a rollout; and the answer to one of thousands of creations in flight.
 * `npx node --expose-gc controller/kinds/stateful_set/index_bench.ts 5000`; a further argument names the one case to run.
 */

import type { Pod } from "../../../kube/index.ts";
import { printCost } from "../../../testkit/controller/event_cost.ts";
import { LateWrites } from "../../../testkit/controller/late_writes_model.ts";
import { noChance } from "../../../testkit/controller/no_chance.ts";
import { defaultOptions, Model, statefulSet } from "../../../testkit/controller/stateful_set_model.ts";
import { PlanMemory } from "../../rollout/plan_memory.ts";
import { mostCreations } from "../../rollout/writes/creation_room.ts";
import { sharedCaches } from "../../runtime/caches.ts";
import { observeStatefulSet } from "./observe.ts";
import { planStatefulSet } from "./plan.ts";
import { setIndexes } from "./reconcile.ts";
import { statefulSetState } from "./state.ts";

const replicas = Number(process.argv[2] ?? 5000);
const only = process.argv[3] ?? "";
const EVENTS = 300;

type Spec = NonNullable<Parameters<typeof statefulSet>[1]>;

/** A set, the caches that follow it, and the plans that are made from them. */
class Bench {
  readonly model: Model;
  readonly writes = new LateWrites();
  readonly #caches = {
    ...sharedCaches(),
    pullJobs: () => [],
    pullJobWritten: () => {},
    nodeImage: () => undefined,
  };
  readonly #indexes = setIndexes(this.#caches, { get: () => this.model.set });
  readonly #memory = new PlanMemory();
  #version = 1_000_000;

  constructor(spec: Spec) {
    this.model = new Model(statefulSet("app", { replicas, podManagementPolicy: "Parallel", ...spec }));
  }

  plan() {
    const { model } = this;
    const writes = {
      pending: () => this.writes.pods,
      failures: () => ({}),
      creationRoom: () => mostCreations,
      isClaimWritten: () => false,
    };
    const state = { writes, indexes: this.#indexes };
    const observed = observeStatefulSet(model.set, this.#caches, defaultOptions, state);
    return planStatefulSet(
      statefulSetState({
        explains: false,
        observed,
        options: defaultOptions,
        now: model.now,
        random: noChance,
        memory: this.#memory,
      }),
    );
  }

  pass(): void {
    const { actions, status } = this.plan();
    for (const action of actions) this.model.perform(action);
    this.model.writeStatus(status);
  }

  /** The pass, with its writes begun and not answered. */
  send(): void {
    const { actions, status } = this.plan();
    for (const action of actions) {
      if (action.type.endsWith(" pod")) this.writes.begin(action, this.model.now);
      else this.model.perform(action);
    }
    this.model.writeStatus(status);
  }

  /** Caches hear of everything that the model has. */
  follow(): void {
    const { model } = this;
    for (const pod of model.pods.values())
      if (this.#caches.pods.get(`default/${pod.name}`) !== pod) this.show(pod);
    for (const claim of model.claims.values()) this.#caches.claims.upsert(claim);
    for (const revision of model.revisions.values()) this.#caches.revisions.upsert(revision);
  }

  /** A pod is shown once more, as another version. */
  show(pod: Pod): void {
    const next = { ...pod, namespace: "default", resourceVersion: String(this.#version++) };
    this.model.pods.set(pod.name, next);
    this.#caches.pods.upsert(next);
  }

  live(): void {
    for (const name of [...this.model.pods.keys()]) this.model.kubelet(name);
    this.follow();
    this.model.now += 50;
  }
}

function rested(spec: Spec): Bench {
  const bench = new Bench({ ...spec, podManagementPolicy: "Parallel" });
  for (let round = 0; round < 12; round++) {
    bench.pass();
    bench.live();
  }
  if (bench.model.set.status?.availableReplicas !== replicas) throw new Error("the set did not settle");
  const { podManagementPolicy = "Parallel" } = spec;
  bench.model.changeSpec((spec) => {
    spec.podManagementPolicy = podManagementPolicy;
  });
  return bench;
}

function tellPodEvent(what: string, bench: Bench): void {
  const pod = bench.model.pods.get(`app-${replicas >> 1}`);
  if (pod === undefined) throw new Error("no pod");
  printCost(`${replicas} pods ${what}`, EVENTS, () => {
    bench.show(pod);
    if (bench.plan().actions.length > 0) throw new Error("there was something to do");
  });
}

function rolledOut(spec: Spec): Bench {
  const bench = rested(spec);
  bench.model.changeSpec(({ template }) => {
    for (const container of template.spec.containers) container.image = "app:2";
  });
  for (let round = 0; round < 4; round++) {
    bench.pass();
    bench.follow();
  }
  return bench;
}

function rolling(rollingUpdate: object): Spec {
  return {
    updateStrategy: {
      type: "RollingUpdate",
      rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", ...rollingUpdate },
    },
  };
}

function tellCreations(what: string, spec: Spec): void {
  const bench = new Bench(spec);
  bench.pass();
  bench.follow();
  bench.send();
  if (bench.writes.size !== replicas) throw new Error("the creations were not begun");
  // Claims are there before their pods.
  bench.send();
  bench.follow();
  printCost(`${replicas} pods ${what}`, EVENTS, () => {
    bench.writes.answer(0, (action) => {
      bench.model.perform(action);
      const pod = action.type === "create pod" ? bench.model.pods.get(action.after.name) : undefined;
      if (pod !== undefined) bench.show(pod);
    });
    bench.send();
  });
}

const claims: Spec = {
  volumeClaimTemplates: [
    { metadata: { name: "data" }, spec: { resources: { requests: { storage: "1Gi" } } } },
  ],
};
const cases: Readonly<Record<string, (what: string) => void>> = {
  "at rest": (what) => tellPodEvent(what, rested({})),
  "at rest, with claims": (what) => tellPodEvent(what, rested(claims)),
  "held by the partition": (what) => tellPodEvent(what, rolledOut(rolling({ partition: replicas }))),
  "updated in parallel, 10 %": (what) => tellPodEvent(what, rolledOut(rolling({ maxUnavailable: "10%" }))),
  "updated one by one": (what) =>
    tellPodEvent(what, rolledOut({ podManagementPolicy: "OrderedReady", ...rolling({}) })),
  "being created": (what) => tellCreations(what, {}),
  "being created, with claims": (what) => tellCreations(what, claims),
};
for (const [what, run] of Object.entries(cases)) if (what.includes(only)) run(what);
