/** Two replicas of the controller on a sandbox of their own; one of them dies. */
import t from "tap";
import { checkPhase, runWords } from "../testkit/bench/scenario_sandbox.ts";

/** Short: what is tested is not how long a lease lasts. */
const leases = [
  "--controller-flag=--leader-election-lease-duration=3s",
  "--controller-flag=--leader-election-renew-deadline=2s",
  "--controller-flag=--leader-election-retry-period=500ms",
].join(" ");

t.test("what a dead replica costs", { timeout: 120_000 }, async (t) => {
  const words = `replicas --replicas 2 --shards 4 --size 4 --max-unavailable 1 --start 100 --nodes 4 --limit 0 ${leases}`;
  const run = await runWords(words, 48);
  t.same(
    run.phases.map((phase) => [phase.name, phase.pods]),
    [
      ["create", 48],
      ["rollout in place", 48],
      ["rollout, a replica dies", 48],
    ],
  );
  for (const phase of run.phases) {
    checkPhase(t, phase);
    t.equal(phase.replicas?.length, 2, "each replica by itself");
    const of = (phase.replicas ?? []).map(({ requests = 0 }) => requests);
    t.ok(Math.min(...of) > 0, `${phase.name}: both have work: ${of.join(", ")}`);
    t.equal(
      of.reduce((sum, each) => sum + each, 0),
      phase.requests.total,
    );
  }
  const { facts = {} } = run.phases[2] ?? {};
  t.equal(facts["shards of the dead one"], 2);
  const taken = facts["death to first write in its last shard, ms"] ?? 0;
  t.ok(taken >= 1_000, `not before its leases have expired: ${taken} ms`);
  t.match(run.label, /2 replicas with 4 shards/);
});
