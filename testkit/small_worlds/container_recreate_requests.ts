/** Small worlds of ContainerRecreateRequests for one pod: containers that stop, come back and fail, people who change their mind. */
import { type RestartDependencies, RestartReconciler } from "../../agent/restarts/reconciler.ts";
import { StoppedContainers } from "../../agent/restarts/stopped_containers.ts";
import type { ContainerRecreateRequest } from "../../crds/index.ts";
import { put } from "./pull_state.ts";
import { passOver } from "./recreate_pass.ts";
import {
  containersOf,
  podOf,
  withInstance,
  withNewRequest,
  withoutPod,
  withoutRequest,
  withPod,
} from "./recreate_server.ts";
import { type Stored, startMs } from "./recreate_state.ts";
import type { RecreateScenario, RecreateStage } from "./recreate_world.ts";

type Spec = Omit<ContainerRecreateRequest["spec"], "podName" | "containers">;

/** An agent that has something else than it should. */
export function agentWith(
  other: (deps: RestartDependencies) => Partial<RestartDependencies>,
): RecreateScenario["make"] {
  return (deps) => new RestartReconciler({ ...deps, ...other(deps) });
}

/** It remembers nothing of what it has stopped. */
export const forgetfulAgent = agentWith(() => ({
  stopped: new StoppedContainers(undefined, async () => undefined),
}));

/** `containers`: of the pod. */
export function recreateScenarios(containers: number): RecreateScenario[] {
  const names = Array.from({ length: containers }, (_, at) => `c${at + 1}`);
  const all = names.map(() => "Succeeded").join(", ");
  const scenario = (
    name: string,
    stages: readonly RecreateStage[],
    ends: RecreateScenario["ends"] = { one: [all] },
    { pod = {}, ...more }: Partial<RecreateScenario> & { readonly pod?: object } = {},
  ): RecreateScenario => {
    const running = containersOf("pod", names);
    const stored: Stored = {
      requests: new Map(),
      pod: podOf("pod", running, pod),
      node: new Map([["pod", running]]),
      stops: [],
      heldSince: new Map(),
      version: 1,
      now: startMs,
    };
    return {
      name: `ContainerRecreateRequest ${name}`,
      stored,
      stages,
      ends,
      stubborn: [],
      agent: "works",
      isWatched: true,
      make: agentWith(() => ({})),
      pass: passOver,
      ...more,
    };
  };
  const go = (spec: Spec = {}, listed = names) => made("one", "one", listed, spec);
  const strategy = (given: NonNullable<Spec["strategy"]>): Spec => ({ strategy: given });
  const [first = "", ...others] = names;
  const failedAnd = (phase: string) => ["Failed", ...others.map(() => phase)].join(", ");
  const held = { pod: GATE };
  const drain = strategy({ unreadyGracePeriodSeconds: 2 });
  const second = (spec: Spec = {}) => made("two", "two", names, spec);
  const both = { one: [all], two: [all] };
  return [
    scenario("of all containers", [go()]),
    scenario("in order", [go(strategy({ orderedRecreate: true }))]),
    scenario("of the first container", [go({}, [first])], { one: ["Succeeded"] }),
    scenario("whose containers have to run for a while", [go(strategy({ minStartedSeconds: 2 }))]),
    scenario("by force", [go(strategy({ forceRecreate: true }))]),
    scenario("by force, of a container that ends by itself", [
      go(strategy({ forceRecreate: true })),
      ends(first),
    ]),
    scenario("of a container that ends by itself", [go(), ends(first)]),
    scenario("of a pod that is held not ready", [go(drain)], { one: [all] }, held),
    scenario("of a pod that somebody holds not ready", [go(drain)], { one: [all] }, { pod: heldBySomebody }),
    scenario("of a pod that nobody watches", [go(drain)], { one: [all] }, { ...held, isWatched: false }),
    scenario("with a time to live", [go({ ttlSecondsAfterFinished: 5 })], { one: ["gone"] }),
    scenario(
      "ended by its deadline, or before",
      [go({ ...drain, activeDeadlineSeconds: 3 }), later(3000)],
      { one: [all, "recreating has exceeded the activeDeadlineSeconds"] },
      held,
    ),
    scenario("deleted meanwhile", [go(drain), gone("one")], { one: ["gone"] }, held),
    scenario(
      "deleted, and made again",
      [go(drain), gone("one"), made("one", "again", names, drain)],
      { one: [all] },
      held,
    ),
    scenario("of a pod that is deleted", [go(drain), podGone], { one: [all, "pod has gone"] }, held),
    scenario("of a pod that is replaced", [go(drain), podReplaced], { one: [all, "pod has gone"] }, held),
    scenario("and another one", [go(), second()], both),
    scenario("and another one by force", [go(), second(strategy({ forceRecreate: true }))], both),
    scenario("and another one, of a pod that is held not ready", [go(drain), second(drain)], both, held),
    scenario("and another one, the first one deleted", [go(), second(), gone("one")], {
      one: ["gone"],
      two: [all],
    }),
    scenario(
      "of a container that does not stop",
      [go()],
      { one: [failedAnd("Pending")] },
      { stubborn: [first] },
    ),
    scenario(
      "of a container that does not stop, which is ignored",
      [go(strategy({ failurePolicy: "Ignore" }))],
      { one: [failedAnd("Succeeded")] },
      { stubborn: [first] },
    ),
    scenario(
      "of containers that are not started again",
      [go(strategy({ failurePolicy: "Ignore" }))],
      { one: [names.map(() => "Failed").join(", ")] },
      { pod: { spec: { restartPolicy: "Never" } } },
    ),
    scenario(
      "without an agent",
      [go()],
      { one: ["daemon has not responded for a long time"] },
      { agent: "silent" },
    ),
  ];
}

const GATE = { spec: { readinessGates: [{ conditionType: "KruisePodReady" }] } };
const LIFECYCLE = [{ userAgent: "Lifecycle", key: "preUpdateHook" }];
const heldBySomebody = {
  ...GATE,
  status: { conditions: [{ type: "KruisePodReady", status: "False", message: JSON.stringify(LIFECYCLE) }] },
};

function people(name: string, change: RecreateStage["change"]): RecreateStage {
  return { name, change };
}

function made(name: string, uid: string, listed: readonly string[], spec: Spec): RecreateStage {
  const containers = listed.map((container) => ({ name: container }));
  return people(`${uid} is asked for`, (stored) =>
    stored.requests.has(name) ? undefined : withNewRequest(stored, name, uid, { ...spec, containers }),
  );
}

const gone = (name: string): RecreateStage =>
  people(`${name} is deleted`, (stored) => withoutRequest(stored, name));

const later = (ms: number): RecreateStage =>
  people(`${ms} ms pass`, (stored) => ({ ...stored, now: stored.now + ms }));

const podGone = people("the pod is deleted", withoutPod);

/** At once, while the containers of the former one still run. */
const podReplaced = people("another pod of the name", (stored) => {
  const next = containersOf("next", [...(stored.node.get("pod")?.keys() ?? [])]);
  return { ...withPod(stored, podOf("next", next, GATE)), node: put(stored.node, "next", next) };
});

function ends(name: string): RecreateStage {
  const end = { state: "exited", isReady: false } as const;
  return people(`${name} ends by itself`, (stored) =>
    stored.node.get("pod")?.get(name)?.state === "running"
      ? withInstance(stored, "pod", name, end)
      : undefined,
  );
}
