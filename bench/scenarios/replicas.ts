/** Replicas share the work by shards. What that is worth, and what it costs when one of them dies. */
import { shardOf } from "../../controller/index.ts";
import { BenchError } from "../errors.ts";
import type { Replicas } from "../manager.ts";
import { until } from "../measure/phase.ts";
import { workloadOf } from "../measure/pod_board.ts";
import { runs } from "../measure/pod_state.ts";
import type { Phase } from "../measure/result.ts";
import { Takeover } from "../measure/takeover.ts";
import type { Scenario, Stage } from "../scenario.ts";
import { areShared, holdersOf, shardsByHolder } from "../shard_leases.ts";
import { firstImage, secondImage } from "../workloads.ts";
import { ManyWorkloads } from "./many_workloads.ts";

/** Share of the pods that have arrived when one dies: all shards are at work then. */
const arrivedAtDeath = 0.25;

export const replicas: Scenario = {
  name: "replicas",
  summary:
    "--pods in CloneSets of --size by --replicas that share --shards; once more while the one that leads most dies",
  kinds: ["CloneSet"],
  ownManager: true,
  replicated: true,
  async run(stage) {
    const shared = stage.replicas;
    if (shared === undefined)
      throw new BenchError("replicas needs a manager that the bench starts: leave out --pid");
    const workloads = new ManyWorkloads(stage);
    await untilShared(stage, shared);
    const created = await workloads.create();
    const updated = await workloads.update({ name: "rollout in place", image: secondImage });
    const phases = [created, updated];
    // A single one has no successor: what its restart costs, `restart` measures.
    if (stage.manager.processes.length > 1)
      phases.push(await deathPhase(stage, shared, workloads, updated.tookMs));
    return { phases, limit: await stage.measureLimit() };
  },
};

async function untilShared(stage: Stage, { shards }: Replicas): Promise<void> {
  const { client, manager, progress } = stage;
  progress.begin("shards", shards);
  await until(stage, "all shards are led, by all replicas alike", async () => {
    const holders = await holdersOf(client, shards);
    progress.update(holders.size);
    return areShared(holders, shards, manager.processes.length);
  });
  progress.end();
}

async function deathPhase(
  stage: Stage,
  shared: Replicas,
  workloads: ManyWorkloads,
  usualMs: number,
): Promise<Phase> {
  const { board, clock } = stage;
  const shardOfWorkload = new Map(
    [...workloads.uids].map(([name, uid]) => [name, shardOf(uid, shared.shards)]),
  );
  const takeover = new Takeover({
    shardOf: (pod) => shardOfWorkload.get(workloadOf(pod) ?? ""),
    now: () => clock.monotonic(),
    pods: board.pods(),
  });
  const stop = board.subscribe((change) => takeover.see(change));
  const facts: Record<string, number> = {};
  const kill = async (): Promise<void> => {
    const arrived = Math.ceil(workloads.pods * arrivedAtDeath);
    await until(
      stage,
      `${arrived} pods have the new image`,
      async () => countOf(stage, firstImage) >= arrived,
    );
    const { identity, pid, shards } = await leaderOfMost(stage, shared, [...shardOfWorkload.values()]);
    facts["shards of the dead one"] = shards.length;
    facts["pods updated at its death"] = countOf(stage, firstImage);
    await shared.kill(pid);
    const at = clock.monotonic();
    takeover.died(shards);
    await until(stage, "its leases are taken over", async () => {
      const holders = await holdersOf(stage.client, shared.shards);
      return shards.every((shard) => (holders.get(shard) ?? identity) !== identity);
    });
    facts["death to all its leases taken, ms"] = Math.round(clock.monotonic() - at);
  };
  try {
    const phase = await workloads.update({
      name: "rollout, a replica dies",
      image: firstImage,
      meanwhile: kill,
      facts: () => ({ ...facts, ...takeover.facts() }),
    });
    const longerMs = Math.round(phase.tookMs - usualMs);
    return { ...phase, facts: { ...phase.facts, "longer than without a death, ms": longerMs } };
  } finally {
    stop();
  }
}

function countOf({ board }: Stage, image: string): number {
  let count = 0;
  for (const pod of board.pods()) if (runs(pod, image)) count++;
  return count;
}

/** Of those that lead as many shards, the one with most workloads in them. */
async function leaderOfMost(
  { client }: Stage,
  { shards, byIdentity }: Replicas,
  shardOfWorkloads: readonly number[],
): Promise<{ identity: string; pid: number; shards: readonly number[] }> {
  const running = byIdentity();
  const workloadsIn = (led: readonly number[]): number =>
    shardOfWorkloads.filter((shard) => led.includes(shard)).length;
  const leaders = [...shardsByHolder(await holdersOf(client, shards))].flatMap(([identity, led]) => {
    const pid = running.get(identity)?.pid;
    return pid === undefined ? [] : [{ identity, pid, shards: led, workloads: workloadsIn(led) }];
  });
  const [most] = leaders.sort((a, b) => b.shards.length - a.shards.length || b.workloads - a.workloads);
  if (most === undefined) throw new BenchError("no replica is known to lead a shard");
  return most;
}
