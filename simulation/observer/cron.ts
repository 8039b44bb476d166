/** AdvancedCronJobs: a run is started once, in time, not while it is paused, and beside another one only where that is allowed. */
import type { StoredObject } from "../../sandbox/index.ts";
import { isByController } from "./disruptions.ts";
import { at, controllerOf, isTerminating, numberAt, textAt } from "./fields.ts";
import type { ObservedCluster } from "./observed.ts";
import type { Rule, SeenWrite } from "./rule.ts";

const scheduledAt = "apps.kruise.io/scheduled-at";
/** Times of runs are whole seconds. */
const roundedMs = 1_000;
/** From the decision to the run: what it replaces, or what the history has no place for, is deleted first. Spec: jobs A4, rules 8 and 9. */
const writesToRun = 2;

export const cron: Rule = (write) => {
  const { cluster, seen, verb, resource, namespace, name, staleMs } = write;
  if (!isByController(write) || verb !== "create" || resource !== "broadcastjobs.apps.kruise.io") return [];
  const runs = cluster.objects(resource, namespace);
  const run = runs.find(({ metadata }) => metadata.name === name);
  const owner = run && controllerOf(run);
  const job = cluster
    .objects("advancedcronjobs.apps.kruise.io", namespace)
    .find(({ metadata }) => metadata.uid === owner?.uid);
  if (run === undefined || job === undefined) return [];
  const states = seen.recentStates(job, staleMs);
  const others = runs.filter((each) => each !== run && controllerOf(each)?.uid === owner?.uid);
  const what = `AdvancedCronJob ${namespace}/${job.metadata.name}`;
  return [
    ...(states.every((state) => at(state, "spec", "paused") === true)
      ? [`${what} is paused, and ${name} was started`]
      : []),
    ...beside(states, others).map((other) => `${what}: ${name} was started beside ${other}`),
    ...(others.some((each) => timeOf(each) === timeOf(run)) ? [`${what}: ${name} is a second run`] : []),
    ...(isLate(write, run, states) ? [`${what}: ${name} was started after its deadline`] : []),
  ];
};

/** Of those that may run each minute: what has started nothing since then (milliseconds since the epoch). */
export function runsMissing(cluster: ObservedCluster, since: number): string[] {
  return cluster
    .objects("advancedcronjobs.apps.kruise.io")
    .filter((job) => !isTerminating(job) && at(job, "spec", "paused") !== true)
    .filter((job) => !(Date.parse(textAt(job, "status", "lastScheduleTime")) > since))
    .map(({ metadata }) => `AdvancedCronJob ${metadata.namespace}/${metadata.name} starts no run any more`);
}

function beside(states: readonly StoredObject[], others: readonly StoredObject[]): string[] {
  if (states.some((state) => textAt(state, "spec", "concurrencyPolicy") === "Allow")) return [];
  return others
    .filter((each) => !isTerminating(each) && textAt(each, "status", "completionTime") === "")
    .map(({ metadata }) => metadata.name ?? "");
}

/** By the clock of who started it and by the true one: one of them may be wrong. */
function isLate(
  { cluster, userAgent, staleMs }: SeenWrite,
  run: StoredObject,
  states: readonly StoredObject[],
): boolean {
  const deadlines = states.map(
    (state) => numberAt(state, "spec", "startingDeadlineSeconds") || Number.POSITIVE_INFINITY,
  );
  const latest = timeOf(run) + Math.max(...deadlines) * 1000 + writesToRun * staleMs + roundedMs;
  const starter = cluster.replicas.find((replica) => replica.userAgent === userAgent);
  const now = cluster.clock.now();
  return now > latest && (starter?.clock.now() ?? now) > latest && now > cluster.diedWrongAt + staleMs;
}

function timeOf({ metadata }: StoredObject): number {
  return Date.parse(metadata.annotations?.[scheduledAt] ?? "");
}
