/** Mistakes that somebody could make: the simulation has to find each of them. */
import type { Mutant } from "./mutant.ts";
import { mutantsBeside } from "./mutants_beside.ts";

const clones = "controller/kinds/clone_set";
const stateful = "controller/kinds/stateful_set";
const daemons = "controller/kinds/daemon_set";
const rollout = "controller/rollout";
const executor = "controller/runtime/executor";

const ofRollouts: readonly Mutant[] = [
  {
    name: "a CloneSet updates one pod beyond its budget",
    file: `${clones}/numbers.ts`,
    from: "updateBudget: limits.maxUnavailable + pods - limits.replicas,",
    to: "updateBudget: limits.maxUnavailable + pods - limits.replicas + 1,",
  },
  {
    name: "a CloneSet deletes one ready pod beyond its budget",
    file: `${clones}/numbers.ts`,
    from: "limits.maxUnavailable + (pods - limits.replicas) - unavailable)",
    to: "limits.maxUnavailable + (pods - limits.replicas) - unavailable + 1)",
  },
  {
    name: "pods of a CloneSet that are out of service use up no budget",
    file: `${clones}/update.ts`,
    from: "return { atTarget: budget - atTarget, available: updateBudget - unavailable.size };",
    to: "return { atTarget: budget - 0 * atTarget, available: updateBudget - 0 * unavailable.size };",
  },
  {
    name: "a CloneSet ignores its partition",
    file: `${clones}/numbers.ts`,
    from: "partition: orZero(() => partitionReplicas(strategy.partition, total)),",
    to: "partition: 0,",
  },
  {
    name: "a CloneSet rounds a percentage of its partition down",
    file: `${clones}/numbers.ts`,
    from: "partition: orZero(() => partitionReplicas(strategy.partition, total)),",
    to: "partition: orZero(() => scaledValueOfFraction(strategy.partition ?? 0, total, false)),",
  },
  {
    name: "a paused CloneSet updates",
    file: `${clones}/plan.ts`,
    from: "if (strategy.onDelete || strategy.paused) reportHeld(state, last);",
    to: "if (strategy.onDelete) reportHeld(state, last);",
  },
  {
    name: "a CloneSet creates one pod too many",
    file: `${clones}/numbers.ts`,
    from: "const missing = Math.max(0, want - have);",
    to: "const missing = Math.max(0, want - have + (have > 0 && have < want ? 1 : 0));",
  },
  {
    name: "a CloneSet does not scale in",
    file: `${clones}/numbers.ts`,
    from: "const surplus = Math.max(0, have - updated.toDelete - old.toDelete - want);",
    to: "const surplus = 0;",
  },
  {
    name: "an update in place is over before its containers run",
    file: `${rollout}/in_place/completion.ts`,
    from: "return imagesAwaited(pod, state);",
    to: "return undefined;",
  },
  {
    name: "a pod that was updated in place stays out of service",
    file: `${rollout}/in_place/update.ts`,
    from: `return needsGateOn(pod) ? { kind: "gate", conditions: [gateOn()] } : { kind: "done" };`,
    to: `return { kind: "done" };`,
  },
  {
    name: "a StatefulSet updates one pod beyond its budget",
    file: `${stateful}/update.ts`,
    from: "if (unavailable.size >= state.strategy.maxUnavailable && !unavailable.has(member.pod.name)) {",
    to: "if (unavailable.size > state.strategy.maxUnavailable && !unavailable.has(member.pod.name)) {",
    needs: ['"kind":"StatefulSet"'],
  },
  {
    name: "a paused StatefulSet updates",
    file: `${stateful}/plan.ts`,
    from: "if (strategy.onDelete || strategy.paused) reportHeld(state, decisions);",
    to: "if (strategy.onDelete) reportHeld(state, decisions);",
    needs: ['"kind":"StatefulSet"', '"paused":true'],
  },
  {
    name: "a StatefulSet ignores the ordinals that are reserved",
    file: `${stateful}/strategy.ts`,
    from: "reservedRanges(spec.reserveOrdinals)",
    to: "reservedRanges(undefined)",
    needs: ["reserveOrdinals"],
  },
  {
    name: "pods that a StatefulSet takes away use up no budget in the same pass",
    file: `${stateful}/unavailable.ts`,
    from: "if (!this.#before.has(pod)) this.#added.add(pod);",
    to: 'if (pod === "") this.#added.add(pod);',
    needs: ['"kind":"StatefulSet"'],
  },
  {
    name: "a DaemonSet updates one pod beyond its budget",
    file: `${daemons}/update.ts`,
    from: "const room = Math.max(0, strategy.maxUnavailable - unavailable);",
    to: "const room = Math.max(0, strategy.maxUnavailable - unavailable + 1);",
    needs: ['"kind":"DaemonSet"'],
  },
  {
    name: "a paused DaemonSet updates",
    file: `${daemons}/plan.ts`,
    from: "if (!strategy.rolling || strategy.paused) reportHeld(state, decisions);",
    to: "if (!strategy.rolling) reportHeld(state, decisions);",
    needs: ['"kind":"DaemonSet"', '"paused":true'],
  },
  {
    name: "a DaemonSet replaces pods out of service although other nodes have none",
    file: `${daemons}/update.ts`,
    from: "const found: Urgency = { urgent: [], unavailable: starting + missing };",
    to: "const found: Urgency = { urgent: [], unavailable: 0 };",
    needs: ['"kind":"DaemonSet"'],
  },
  {
    name: "creations under way are not seen by plans",
    file: `${executor}/perform.ts`,
    from: "    for (const { after } of creations) flight.pods.set(after.uid, after);\n",
    to: "",
  },
  {
    name: "what was decided for an earlier generation is carried out",
    file: `${executor}/perform.ts`,
    from: "    this.#withdraw(flight);\n  }\n\n  #withdraw",
    to: "  }\n\n  #withdraw",
    needs: ['"kind":"CloneSet"', '"type":"latency"'],
  },
  {
    name: "a write that lost a race counts as done",
    file: `${executor}/failure.ts`,
    from: `    case "retry":\n      return "race";`,
    to: `    case "retry":\n      return "done";`,
    needs: ['"pods/status"'],
  },
  {
    name: "what failed is not tried again",
    file: `${executor}/perform.ts`,
    from: "    this.#settings.requeue(owner, backoff.failed(id, ended.error));",
    to: "    backoff.failed(id, ended.error);",
    needs: ['"pods/status"'],
  },
  {
    name: "a pod is patched without the version that the decision was made on",
    file: `${rollout}/in_place/update.ts`,
    from: "steps.length === 0 ? { resourceVersion: pod.resourceVersion } : {};",
    to: "({});",
    survives:
      "it guards a pod against a leader that has not heard of the last one's writes; the UID is still checked",
  },
  {
    name: "a cache takes older objects for newer ones",
    file: "kube/cache.ts",
    from: "if (compareVersions(version, held.version) <= 0) return false;\n    if (held.uid !== uid) {",
    to: "if (held.uid !== uid) {",
  },
  {
    name: "a new list does not take away what is gone",
    file: "kube/cache.ts",
    from: "      this.remove(key, uid, listVersion);\n    }\n  }",
    to: "    }\n  }",
  },
  {
    name: "what was deleted comes back by a late event",
    file: "kube/cache.ts",
    from: "    if (this.#isRemoved(uid, version)) return false;\n",
    to: "",
    needs: ['"shuffle"'],
  },
  {
    name: "a selection takes back what was deleted by a late event",
    file: "controller/runtime/selected_objects.ts",
    from: "tombstones: 1_024,",
    to: "tombstones: 0,",
    needs: ['"shuffle"'],
  },
  {
    name: "a watch goes on from its version although that is forgotten",
    file: "kube/watch_state.ts",
    from: `return restart(deps, state, gone ? "Gone" : event.reason || \`code \${event.code}\`, gone);`,
    to: `return restart(deps, state, gone ? "Gone" : event.reason || \`code \${event.code}\`, false);`,
  },
  {
    name: "a queue forgets what changes while its key is worked on",
    file: "kube/queue.ts",
    from: "      run.again = higher(run.again, priority);\n      return;",
    to: "      return;",
  },
  {
    name: "a lease counts as free as soon as it is seen",
    file: "kube/lease.ts",
    from: "return this.#options.clock.monotonic() - this.#seen.since >= duration;",
    to: "return this.#options.clock.monotonic() - this.#seen.since >= 0 * duration;",
  },
  {
    name: "who loses the lease goes on leading",
    file: "kube/lease.ts",
    from: "this.#ended = Promise.resolve(this.#options.onLost(leftMs));",
    to: "this.#ended = Promise.resolve();",
  },
  {
    name: "a leader that was stopped sends what waits before it looks at its lease",
    file: "kube/requester.ts",
    from: "      fence.check();\n",
    to: "",
    needs: ['"act":"stop replica"'],
  },
  {
    name: "what was led by a leader that was stopped lets its writes end",
    file: "controller/start.ts",
    from: "    if (graceMs === 0) this.#cut.abort();\n",
    to: "",
    needs: ['"act":"stop replica"'],
  },
  {
    name: "every shard is everybody's",
    file: "controller/runtime/shard.ts",
    from: "return shard.count === 1 || shardOf(uid, shard.count) === shard.index;",
    to: "return shard.count > 0 || shardOf(uid, shard.count) === shard.index;",
  },
  {
    name: "a shard is nobody's",
    file: "controller/runtime/shard.ts",
    from: "return shard.count === 1 || shardOf(uid, shard.count) === shard.index;",
    to: "return shard.count === 1 || (shardOf(uid, shard.count) === shard.index && index(shard) === 0);\n}\nfunction index(shard: Shard): number {\n  return shard.index;",
  },
  {
    name: "a budget refuses nobody",
    file: "controller/kinds/pod_unavailable_budget/spend.ts",
    from: "if ((isMarked(pod) ? room : unavailableAllowed) <= 0) {",
    to: "if ((isMarked(pod) ? room : unavailableAllowed) < -99) {",
    needs: ['"kind":"PodUnavailableBudget"'],
  },
  {
    name: "a budget is spent without the version that was read",
    file: "controller/kinds/pod_unavailable_budget/guard.ts",
    from: "body: { metadata: { uid, resourceVersion }, status }",
    to: 'body: { metadata: { uid, ...(resourceVersion === "" ? { resourceVersion } : {}) }, status }',
    needs: ['"kind":"PodUnavailableBudget"'],
  },
  {
    name: "a paused SidecarSet updates",
    file: "controller/kinds/sidecar_set/plan.ts",
    from: "if (strategy.paused) {",
    to: "if (strategy.paused && strategy.notUpdated) {",
    needs: ['"kind":"SidecarSet"'],
  },
  {
    name: "a SidecarSet ignores its budget",
    file: "controller/kinds/sidecar_set/update.ts",
    from: "const most = mostUnavailable(strategy.maxUnavailable, total);",
    to: "const most = total + mostUnavailable(strategy.maxUnavailable, total);",
    needs: ['"kind":"SidecarSet"'],
  },
  {
    name: "a BroadcastJob ignores its parallelism",
    file: "controller/kinds/broadcast_job/plan.ts",
    from: "const limit = strategy.parallelism(counts.desired);",
    to: "const limit = counts.desired + strategy.parallelism(counts.desired);",
    needs: ['"kind":"BroadcastJob"'],
  },
  {
    name: "a subset of a WorkloadSpread takes one pod too many",
    file: "controller/kinds/workload_spread/caps.ts",
    from: "Math.min(cap, Math.max(0, cap - taken));",
    to: "Math.min(cap + 1, Math.max(0, cap + 1 - taken));",
    needs: ['"kind":"WorkloadSpread"'],
  },
  {
    name: "runs of an AdvancedCronJob are kept for ever",
    file: "controller/kinds/advanced_cron_job/observe.ts",
    from: "successLimit: Math.max(0, successfulJobsHistoryLimit ?? 3),",
    to: "successLimit: 1000 + Math.max(0, successfulJobsHistoryLimit ?? 3),",
    needs: ['"kind":"AdvancedCronJob"'],
  },
  {
    name: "old revisions are kept for ever",
    file: `${rollout}/revisions/revision_history.ts`,
    from: "if (observed.revisions.length <= limit) return [];",
    to: "if (observed.revisions.length <= limit * 1000) return [];",
  },
];

export const mutants: readonly Mutant[] = [...ofRollouts, ...mutantsBeside];
