/** Acts that belong together: chance alone hardly ever puts them next to each other. */
import type { FaultRule } from "../sandbox/index.ts";
import type { Act } from "./act.ts";
import { type Applied, hasClaims, image, newImage } from "./applied.ts";
import type { Chance } from "./chance.ts";
import { imagePullJob } from "./job_manifests.ts";
import { runtimeTroubles } from "./runtime_socket.ts";

interface Step {
  readonly afterMs: number;
  readonly do: Act;
}

/** Nothing else begins while it is played: what hears late excuses much. */
export interface Scene {
  readonly steps: readonly Step[];
  /** So late writes arrive in the scene, in milliseconds; 0: at once. */
  readonly lateMs: number;
  readonly forMs: number;
}

/** What controllers write beside the status of their own objects. */
const written = [
  "pods",
  "pods/status",
  "clonesets.apps.kruise.io",
  "broadcastjobs.apps.kruise.io",
  "imagepulljobs.apps.kruise.io",
  "configmaps",
];
const verb = ["create", "patch", "update", "delete"];
const workloadKinds = new Set(["CloneSet", "StatefulSet", "DaemonSet"]);

export function sceneOf(chance: Chance, applied: readonly [Applied, ...Applied[]], nodes: number): Scene {
  const [claiming, ...more] = applied.filter(({ manifest }) => hasClaims(manifest));
  if (claiming !== undefined && chance.is(0.4)) return wantedAgain(chance, chance.oneOf([claiming, ...more]));
  if (chance.is(0.3)) return chance.is(0.6) ? filesAlone(chance, nodes) : runtimesFail(chance, nodes);
  const [workload, ...workloads] = applied.filter(({ manifest }) => workloadKinds.has(manifest.kind));
  if (workload !== undefined && chance.is(0.3))
    return changedAsPodsComeBack(chance, chance.oneOf([workload, ...workloads]));
  if (chance.is(0.6)) return refusedMeanwhile(chance, chance.oneOf(applied));
  // Where a line of writes is the longest.
  const [first, ...others] = applied.filter(({ manifest }) => manifest.kind === "CloneSet");
  return secondThoughts(chance, chance.oneOf(first === undefined ? applied : [first, ...others]));
}

/** Pods are to go for good, and their claims with them; they are wanted again, with another image, while no claim can be written. */
function wantedAgain(chance: Chance, { path }: Applied): Scene {
  const forMs = chance.between(1_000, 30_000);
  const ms = chance.between(20, 3_000);
  const isLate = chance.is(0.5);
  const effect: FaultRule["effect"] = isLate
    ? { type: "latency", ms, jitterMs: ms }
    : { type: "status", code: chance.oneOf([409, 500, 503]) };
  const rule = { userAgent: "replica-", verb, resource: ["persistentvolumeclaims"], effect };
  const template = { spec: { containers: [{ name: "main", image: image(chance) }] } };
  const beginMs = chance.between(1, 300);
  return {
    lateMs: isLate ? 2 * ms : 0,
    forMs: beginMs + forMs,
    steps: [
      { afterMs: 0, do: { act: "change", path, patch: { spec: { replicas: chance.whole(0, 1) } } } },
      { afterMs: beginMs, do: { act: "fault", rule, forMs } },
      {
        afterMs: beginMs + chance.between(1, forMs),
        do: { act: "change", path, patch: { spec: { replicas: chance.whole(2, 5), template } } },
      },
    ],
  };
}

/** Nothing that a change asks for can be written for a while. The status can, so nothing but the refusals tells of it. */
function refusedMeanwhile(chance: Chance, { path, change }: Applied): Scene {
  const forMs = chance.between(1_000, 30_000);
  const effect: FaultRule["effect"] = chance.is(0.8)
    ? { type: "status", code: chance.oneOf([409, 409, 500, 503]) }
    : { type: "drop", when: "before" };
  return {
    lateMs: 0,
    forMs,
    steps: [
      {
        afterMs: 0,
        do: { act: "fault", rule: { userAgent: "replica-", verb, resource: written, effect }, forMs },
      },
      { afterMs: 20, do: { act: "change", path, patch: change(chance) } },
    ],
  };
}

/**
 * Somebody changes their mind while controllers still carry out the first change, slowly. What webhooks write of spreads and budgets
 * is quick: creations that wait for it as well would be later still.
 */
function secondThoughts(chance: Chance, { path, manifest, change }: Applied): Scene {
  const ms = chance.between(1_000, 5_000);
  const effect: FaultRule["effect"] = { type: "latency", ms, jitterMs: ms };
  const forMs = 12 * ms;
  const scaled = (least: number, most: number): object =>
    manifest.kind === "CloneSet" ? { spec: { replicas: chance.whole(least, most) } } : change(chance);
  return {
    lateMs: 2 * ms,
    forMs,
    steps: [
      {
        afterMs: 0,
        do: { act: "fault", rule: { userAgent: "replica-", verb, resource: written, effect }, forMs },
      },
      { afterMs: 20, do: { act: "change", path, patch: scaled(12, 18) } },
      { afterMs: 20 + chance.between(500, 2 * ms), do: { act: "change", path, patch: scaled(0, 3) } },
    ],
  };
}

/** Pods have been out of service for long. Somebody changes what they are made for after they came back, which controllers hear later. */
function changedAsPodsComeBack(chance: Chance, { path, change }: Applied): Scene {
  const outMs = chance.between(10_000, 30_000);
  const lateMs = chance.between(1_000, 8_000);
  const effect: FaultRule["effect"] = { type: "lag", ms: lateMs };
  const rule: FaultRule = { userAgent: "replica-", verb: ["watch", "list"], resource: "pods", effect };
  const isBack = outMs + lateMs / 4;
  return {
    lateMs,
    forMs: outMs + 2 * lateMs,
    steps: [
      ...Array.from({ length: chance.whole(2, 6) }, () => ({
        afterMs: 0,
        do: { act: "fail probe", share: chance.share(), forMs: outMs } as const,
      })),
      { afterMs: outMs - 500, do: { act: "fault", rule, forMs: 2 * lateMs } },
      {
        afterMs: isBack + chance.between(1, lateMs / 2),
        do: { act: "change", path, patch: chance.is(0.7) ? newImage(chance) : change(chance) },
      },
    ],
  };
}

/**
 * Agents begin to work, the server then takes nothing of what they tell, or does not answer, and they start again: their files alone
 * know what was done.
 */
function filesAlone(chance: Chance, nodes: number): Scene {
  const forMs = chance.between(5_000, 60_000);
  const rule: FaultRule = chance.is(0.7)
    ? { userAgent: "agent-", verb: "patch", effect: { type: "status", code: chance.oneOf([409, 500, 503]) } }
    : { userAgent: "agent-", effect: { type: "drop", when: "before" } };
  const restart = (name: string): Step => {
    const afterSteps = chance.is(0.5) ? chance.whole(1, 12) : 0;
    return {
      // While it does what it was asked first, or at any time.
      afterMs: chance.is(0.5) ? chance.between(20, 1_000) : chance.whole(20, forMs),
      do: { act: "restart agent", name, afterSteps, downMs: chance.between(10, 10_000) },
    };
  };
  const names = namesOf(nodes);
  const fullMs = chance.is(0.3) ? chance.between(700, 3_000) : 0;
  return {
    lateMs: 0,
    forMs,
    steps: [
      ...names
        .filter(() => fullMs > 0)
        .map((name) => ({ afterMs: 0, do: { act: "fill disk", name, forMs: fullMs } as const })),
      recreate(chance, 0),
      pull(chance, 0),
      { afterMs: chance.between(20, 500), do: { act: "fault", rule, forMs } },
      recreate(chance, chance.whole(20, forMs)),
      pull(chance, chance.whole(20, forMs)),
      ...names.map(restart),
    ],
  };
}

/** The runtimes of all nodes are in trouble just as agents pull and stop: what they asked for may be done, or not. */
function runtimesFail(chance: Chance, nodes: number): Scene {
  const forMs = chance.between(1_000, 90_000);
  const how = chance.oneOf(runtimeTroubles);
  const fail = (name: string): Step => {
    const ms = chance.between(200, forMs);
    return { afterMs: 0, do: { act: "fail runtime", name, how, afterCalls: chance.whole(1, 3), forMs: ms } };
  };
  const lasting = chance.is(0.3) ? namesOf(nodes) : [];
  return {
    lateMs: 0,
    forMs,
    steps: [
      ...namesOf(nodes).map(fail),
      ...lasting.map((name): Step => ({ afterMs: 0, do: { act: "hang pulls", name, forMs } })),
      ...Array.from({ length: chance.whole(2, 4) }, () =>
        recreate(chance, chance.is(0.5) ? 20 : chance.whole(20, forMs), chance.is(0.5)),
      ),
      pull(chance, 20, patience(chance)),
      pull(chance, chance.whole(20, forMs), patience(chance)),
      {
        afterMs: chance.whole(20, forMs),
        do: {
          act: "restart agent",
          name: `node${chance.whole(1, nodes)}`,
          afterSteps: 0,
          downMs: chance.between(10, 10_000),
        },
      },
    ],
  };
}

/** How long a job waits for a pull, and how often it is tried again. */
function patience(chance: Chance): object {
  const pullPolicy = { timeoutSeconds: chance.oneOf([5, 60, 600]), backoffLimit: chance.whole(0, 3) };
  const activeDeadlineSeconds = chance.oneOf([30, 300, 1_800]);
  return {
    pullPolicy,
    ...(chance.is(0.5) ? { completionPolicy: { type: "Always", activeDeadlineSeconds } } : {}),
  };
}

function pull(chance: Chance, afterMs: number, patience: object = {}): Step {
  const { path, manifest } = imagePullJob(chance, "blue", `pull-${chance.whole(1, 1e6)}`);
  // What a node has may be pulled all the same.
  const spec = { ...manifest.spec, imagePullPolicy: "Always", ...patience };
  return { afterMs, do: { act: "create", path, manifest: { ...manifest, spec } } };
}

function recreate(chance: Chance, afterMs: number, force = true): Step {
  return { afterMs, do: { act: "recreate containers", share: chance.share(), force } };
}

function namesOf(nodes: number): string[] {
  return Array.from({ length: nodes }, (_, index) => `node${index + 1}`);
}
