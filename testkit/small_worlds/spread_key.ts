/** Which states of a small world of one WorkloadSpread are one. */
import type { WorkloadSpread } from "../../crds/index.ts";
import type { Pod } from "../../kube/index.ts";
import type { Reply } from "./asked_spread.ts";
import { COST, listsOf, type SpreadWrite, subsetOf, versionOf, written } from "./spread_cluster.ts";
import { isVersion, namesOf, type State } from "./spread_state.ts";

/** Older pods are alike. */
const LONG_MS = 300_000;

/** Equal for states that differ in names, versions and times only. */
export function spreadKey(state: State): string {
  const { cluster, seen, processes, requests, pass, late, known, now, mishaps } = state;
  const { stage, evictions, losses, ends } = state;
  const facts: [string, string][] = [];
  const counts: unknown[] = [stage, evictions, losses, ends, mishaps, cluster.workload, seen.workload];
  const age = (date: string) => now - Date.parse(date);
  const tell = (what: string, spread: WorkloadSpread): void => {
    counts.push(`${what} ${spread.metadata.generation} ${spread.status?.observedGeneration}`);
    for (const [version, rows] of listsOf(spread))
      for (const { name, replicas, missingReplicas, conditions = [], creatingPods, deletingPods } of rows) {
        const closed = conditions.map(
          ({ status, lastTransitionTime }) => status === "False" && age(lastTransitionTime),
        );
        counts.push(`${what} ${version} ${name} ${replicas} ${missingReplicas} ${closed}`);
        for (const [key, date] of Object.entries(creatingPods ?? {}))
          facts.push([key, `${what} ${version} ${name} coming ${key.includes("~")} ${age(date)}`]);
        for (const [key, date] of Object.entries(deletingPods ?? {}))
          facts.push([key, `${what} ${version} ${name} going ${age(date)}`]);
      }
  };
  const tellWrite = (what: string, write: SpreadWrite): void => {
    const after = written(cluster, write, "");
    if (write.to === "status") {
      if (after === undefined) counts.push(`${what} raced`);
      else tell(what, after.spread);
    } else
      facts.push([
        write.pod.name,
        `${what} ${after === undefined ? "" : JSON.stringify(write.metadata["annotations"])}`,
      ]);
  };
  tell("stored", cluster.spread);
  for (const [at, { cached, inputs, step, basis }] of processes.entries()) {
    if (!isVersion(cached, cluster.spread)) tell(`process ${at}`, cached);
    if (step.is === "idle") continue;
    const heard = inputs.filter(({ is }) => is !== "sees");
    for (const [place, input] of heard.entries())
      if (input.is === "asked") facts.push([input.pod.name, `process ${at} ${place} ${input.operation}`]);
    counts.push(
      `process ${at} ${step.is} ${heard.map((input) => (input.is === "hears" ? replyText(input.reply) : input.is))}`,
    );
    if (step.is === "writing") tellWrite(`process ${at} writes`, { to: "status", patch: step.patch });
    // After a lost race it goes on with what is in its cache, if that is another one by now.
    counts.push(`${basis === cached.metadata.resourceVersion}`);
  }
  for (const pod of Object.values(cluster.pods)) facts.push([pod.name, describe(pod, now)]);
  for (const name of namesOf(state)) {
    const [is, was] = [cluster.pods[name], seen.pods[name]];
    if (is !== was) facts.push([name, `seen ${was && describe(was, now)} ${is?.uid === was?.uid}`]);
  }
  for (const { operation, by, pod, at, zones } of requests)
    facts.push([
      pod.name,
      `${operation} ${by} ${at} ${zones} ${describe(pod, now)} ${cluster.pods[pod.name]?.uid === pod.uid}`,
    ]);
  for (const write of pass?.writes ?? []) {
    tellWrite("pass", write);
    if (write.to === "status")
      counts.push(`${write.version === processes[0]?.cached.metadata.resourceVersion}`);
  }
  for (const { name, uid } of pass?.deletions ?? [])
    facts.push([name, `pass deletes ${cluster.pods[name]?.uid === uid}`]);
  for (const write of late) tellWrite("late", write);
  for (const [id, since] of Object.entries(known)) {
    const [name = "", date = ""] = id.split(" ");
    facts.push([name, `known ${age(date)} ${now - since}`]);
  }
  const byPod = new Map<string, string[]>();
  for (const [key, fact] of facts) {
    const name = key.split("~")[0] ?? key;
    byPod.set(name, [...(byPod.get(name) ?? []), fact]);
  }
  return JSON.stringify([counts, [...byPod.values()].map((each) => each.sort().join()).sort()]);
}

function replyText(reply: Reply): string {
  if (typeof reply !== "object") return `${reply}`;
  // Of those that had its name before it.
  return "uid" in reply ? `pod ${reply.uid.split("~")[1]}` : "spread";
}

function describe(pod: Pod, now: number): string {
  const { deletionAt, phase, nodeName, annotations, conditions, createdAt } = pod;
  const isUnschedulable = conditions.some(({ type }) => type === "PodScheduled");
  const facts = [
    deletionAt !== undefined,
    phase,
    nodeName,
    annotations[COST],
    subsetOf(pod),
    versionOf(pod),
    isUnschedulable,
  ];
  return `${facts} ${Math.min(now - createdAt, LONG_MS)}`;
}
