/** Plans, guards and controllers that somebody broke are found by the small worlds. */
import t from "tap";
import type { BroadcastJob, CloneSet, PersistentPodState, SidecarSet } from "../../crds/index.ts";
import { applyStrategicPatch } from "../../kube/core/index.ts";
import { broadcastJobScenarios, broadcastJobWorld } from "../../testkit/small_worlds/broadcast_jobs.ts";
import { type BudgetActors, budgetWorld } from "../../testkit/small_worlds/budget_world.ts";
import { cloneSetScenarios } from "../../testkit/small_worlds/clone_sets.ts";
import {
  agentWith,
  forgetfulAgent,
  recreateScenarios,
} from "../../testkit/small_worlds/container_recreate_requests.ts";
import { type CronScenario, cronScenarios, cronWorld } from "../../testkit/small_worlds/cron_jobs.ts";
import {
  type DistributionScenario,
  distributionWorld,
} from "../../testkit/small_worlds/distribution_world.ts";
import { ephemeralScenarios } from "../../testkit/small_worlds/ephemeral_jobs.ts";
import { type EphemeralScenario, ephemeralWorld } from "../../testkit/small_worlds/ephemeral_world.ts";
import { explore, exploreAwaiting } from "../../testkit/small_worlds/explore.ts";
import {
  imageListPullScenarios,
  imageListPullWorld,
  type ListScenario,
} from "../../testkit/small_worlds/image_list_pull_jobs.ts";
import { imagePullScenarios } from "../../testkit/small_worlds/image_pull_jobs.ts";
import { launchScenarios } from "../../testkit/small_worlds/launch_priorities.ts";
import { type LaunchScenario, launchWorld } from "../../testkit/small_worlds/launch_world.ts";
import { persistentPodStateScenarios } from "../../testkit/small_worlds/persistent_pod_states.ts";
import { forgets, type PlannedKind, type Workload } from "../../testkit/small_worlds/plan_world.ts";
import { budgetScenarios } from "../../testkit/small_worlds/pod_unavailable_budgets.ts";
import { type PullScenario, pullWorld } from "../../testkit/small_worlds/pull_world.ts";
import { type RecordScenario, recordsWorld } from "../../testkit/small_worlds/records_world.ts";
import { type RecreateScenario, recreateWorld } from "../../testkit/small_worlds/recreate_world.ts";
import { distributionScenarios } from "../../testkit/small_worlds/resource_distributions.ts";
import { rolloutWorld, type Scenario } from "../../testkit/small_worlds/rollout_world.ts";
import { sidecarSetScenarios } from "../../testkit/small_worlds/sidecar_sets.ts";
import { terminatorScenarios } from "../../testkit/small_worlds/sidecar_terminators.ts";
import { type SpreadActors, spreadWorld } from "../../testkit/small_worlds/spread_world.ts";
import { nodeOf } from "../../testkit/small_worlds/terminator_node.ts";
import { type SidecarScenario, terminatorWorld } from "../../testkit/small_worlds/terminator_world.ts";
import { unitedScenarios } from "../../testkit/small_worlds/united_deployments.ts";
import { type UnitedScenario, unitedWorld } from "../../testkit/small_worlds/united_world.ts";
import { spreadScenarios } from "../../testkit/small_worlds/workload_spreads.ts";

type Planned = ReturnType<Scenario<CloneSet>["kind"]["plan"]>;
type Action = Planned["actions"][number];
type PodAction = Extract<Action, { after: unknown }>;

/** The first scenario, with plans that somebody got wrong. */
function broken(change: (plan: Planned) => Planned, name = "CloneSet in place"): () => unknown {
  const scenario = cloneSetScenarios(3, 0).find((one) => one.name === name);
  if (scenario === undefined) throw new Error(`no scenario ${name}`);
  const { kind } = scenario;
  const plan = kind.plan.bind(kind);
  return () =>
    explore(rolloutWorld({ ...scenario, kind: { ...kind, plan: (...all) => change(plan(...all)) } }, 0));
}

const without = (isOne: (action: PodAction) => boolean) => (plan: Planned) => ({
  ...plan,
  actions: plan.actions.filter((action) => !("after" in action) || !isOne(action)),
});

t.test("plans that are wrong are found", async (t) => {
  const neverBack = without((action) => action.type === "patch pod" && action.lane === "finish");
  t.throws(broken(neverBack), /it ends with/, "a gate that is never opened");

  const twice = (plan: Planned) => ({
    ...plan,
    actions: plan.actions.flatMap((action): Action[] =>
      action.type === "patch pod" ? [action, action] : [action],
    ),
  });
  t.throws(broken(twice), /is written twice/, "two writes of one pod at a time");

  const more = (plan: Planned) => ({
    ...plan,
    actions: plan.actions.flatMap((action): Action[] => {
      if (action.type !== "create pod") return [action];
      const after = { ...action.after, name: `${action.after.name}x`, uid: `${action.after.uid}x` };
      return [action, { ...action, id: `${action.id}x`, after }];
    }),
  });
  t.throws(broken(more, "CloneSet with a surge"), /there are 5 pods, 4 may be/, "one more than the surge");

  const restless = (plan: Planned) => ({ ...plan, status: { ...plan.status, observedGeneration: 1 } });
  t.throws(broken(restless), /it ends with a status of generation 1/, "a status that is never true");
});

/** Plans that read something else than what the spec says. */
function misread<T extends Workload>({ model, plan }: PlannedKind<T>, change: (spec: T["spec"]) => void) {
  const misreading: PlannedKind<T>["plan"] = (...all) => {
    const { set } = model;
    model.set = structuredClone(set);
    change(model.set.spec);
    const planned = plan(...all);
    model.set = set;
    return planned;
  };
  return misreading;
}

function named<S extends { readonly name: string }>(scenarios: readonly S[], name: string): S {
  const found = scenarios.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no scenario ${name}`);
  return found;
}

t.test("wrong plans of a SidecarSet are found", async (t) => {
  const broken = (name: string, plan: (kind: PlannedKind<SidecarSet>) => PlannedKind<SidecarSet>["plan"]) => {
    const scenario = named(sidecarSetScenarios(2, 0), `SidecarSet ${name}`);
    const { kind } = scenario;
    return () => explore(rolloutWorld({ ...scenario, kind: { ...kind, plan: plan(kind) } }, 0));
  };
  const strategy = (change: object) => (kind: PlannedKind<SidecarSet>) =>
    misread(kind, (spec) => Object.assign(spec.updateStrategy ?? {}, change));
  t.throws(broken("one at a time", strategy({ maxUnavailable: 2 })), /0 pods are available, 1 have to be/);
  t.throws(
    broken("held by its partition, then let go", strategy({ partition: 0 })),
    /2 pods are the newest, 1 may be/,
  );
  t.throws(broken("paused, then resumed", strategy({ paused: false })), /1 pods are the newest, 0 may be/);
  t.throws(broken("one at a time", strategy({ paused: true })), /it ends with the counts/);
  t.throws(broken("one at a time", forgets), /is written twice/);
});

t.test("wrong plans of a BroadcastJob are found", async (t) => {
  const broken = (
    name: string,
    plan: (kind: PlannedKind<BroadcastJob>) => PlannedKind<BroadcastJob>["plan"],
  ) => {
    const scenario = named(broadcastJobScenarios(2, 0), `BroadcastJob ${name}`);
    const { kind } = scenario;
    return () => explore(broadcastJobWorld({ ...scenario, kind: { ...kind, plan: plan(kind) } }, 0));
  };
  const spec = (change: object) => (kind: PlannedKind<BroadcastJob>) =>
    misread(kind, (read) => Object.assign(read, change));
  t.throws(broken("one at a time", spec({ parallelism: 2 })), /2 pods are at work, 1 may be/);
  t.throws(broken("paused, then resumed", spec({ paused: false })), /a job on hold goes on/);
  t.throws(
    broken("paused by a failed pod, then let go", spec({ failurePolicy: { type: "Continue" } })),
    /a job on hold goes on/,
  );
  t.throws(broken("two at a time", forgets), /node-1 has 2 pods/);
  t.throws(
    broken("one at a time", spec({ completionPolicy: { type: "Never" } })),
    /it ends with the job still/,
  );
});

t.test("wrong plans of an ImagePullJob are found", async (t) => {
  type Plan = PullScenario["plan"];
  const broken = (name: string, wrong: (plan: Plan) => Plan) => {
    const scenario = named(imagePullScenarios(2, 0), `ImagePullJob ${name}`);
    return () => explore(pullWorld({ ...scenario, plan: wrong(scenario.plan) }, 0));
  };
  const spec =
    (change: object) =>
    (plan: Plan): Plan =>
    (seen, now) =>
      plan({ ...seen, job: { ...seen.job, spec: { ...seen.job.spec, ...change } } }, now);
  const always = (policy: object) => spec({ completionPolicy: { type: "Always", ...policy } });
  const silent =
    (plan: Plan): Plan =>
    (...all) => ({ ...plan(...all), status: undefined });
  t.throws(broken("one at a time", spec({ parallelism: 2 })), /2 nodes pull, 1 may/);
  t.throws(
    broken("one at a time", always({ activeDeadlineSeconds: 0 })),
    /it ends, and 2 nodes have no result/,
  );
  t.throws(broken("one at a time", silent), /it ends with a job that has not ended/);
  t.throws(broken("that never ends, for a day", always({})), /it ends, and never may/);
  t.throws(broken("ended by its deadline", always({})), /it goes on, and is over/);
  t.throws(broken("with a time to live", always({ ttlSecondsAfterFinished: 0 })), /it is removed too early/);
});

t.test("wrong plans of an ImageListPullJob are found", async (t) => {
  type Plan = ListScenario["plan"];
  const broken = (name: string, wrong: (plan: ReturnType<Plan>) => Partial<ReturnType<Plan>>) => {
    const scenario = named(imageListPullScenarios(2), `ImageListPullJob ${name}`);
    const plan: Plan = (...all) => {
      const planned = scenario.plan(...all);
      return { ...planned, ...wrong(planned) };
    };
    return () => explore(imageListPullWorld({ ...scenario, plan }, 0));
  };
  const twice = ({ create }: ReturnType<Plan>) => ({ create: [...create, ...create] });
  const isOver = (plan: ReturnType<Plan>) => ({
    status: plan.status && { ...plan.status, completionTime: "2026-01-01T00:00:00Z" },
  });
  t.throws(
    broken("as it was made", twice),
    /it makes jobs for image-2,image-2,image-3,image-3, image-2,image-3 have none/,
  );
  t.throws(
    broken("as it was made", () => ({ create: [] })),
    /it makes jobs for , image-2,image-3 have none/,
  );
  t.throws(
    broken("with another template", () => ({ delete: [] })),
    /it deletes {2}instead of job-1000/,
  );
  t.throws(broken("that never ends", isOver), /it ends too early/);
  t.throws(
    broken("as it was made", () => ({ status: undefined })),
    /it reports undefined/,
  );
  t.throws(
    broken("with a time to live", () => ({ remove: true })),
    /it is removed too early/,
  );
});

t.test("wrong plans of a UnitedDeployment are found", async (t) => {
  type Observed = Parameters<UnitedScenario["plan"]>[0];
  type UnitedPlan = ReturnType<UnitedScenario["plan"]>;
  type UnitedChange = (plan: UnitedPlan, seen: Observed) => UnitedPlan;
  const broken = (
    name: string,
    {
      read = (seen) => seen,
      change = (plan) => plan,
    }: { read?: (seen: Observed) => Observed; change?: UnitedChange },
  ) => {
    const scenario = named(unitedScenarios(2, 0), `UnitedDeployment ${name}`);
    const plan = (seen: Observed) => change(scenario.plan(read(seen)), seen);
    return () => explore(unitedWorld({ ...scenario, plan }, 0));
  };
  const spec = (change: (spec: Observed["object"]["spec"]) => object) => ({
    read: (seen: Observed): Observed => {
      const { object } = seen;
      return { ...seen, object: { ...object, spec: { ...object.spec, ...change(object.spec) } } };
    },
  });
  const more = spec(({ replicas }) => ({ replicas: (replicas ?? 0) + 1 }));
  t.throws(broken("made", more), /3 pods are asked for, not 2/);
  t.throws(
    broken(
      "held by its partitions, then let go",
      spec(() => ({ updateStrategy: {} })),
    ),
    /holds 0 pods, not 1/,
  );
  const fixed = spec(({ topology }) => ({ topology: { ...topology, scheduleStrategy: {} } }));
  t.throws(broken("adaptive, with a subset that takes no pods", fixed), /it ends with/);
  t.throws(
    broken("made", { read: (seen) => ({ ...seen, children: [] }) }),
    /the subset a gets a second workload/,
  );
  const unstored: UnitedChange = (plan) =>
    plan.revision === undefined ? plan : { ...plan, revision: { ...plan.revision, write: "none" } };
  t.throws(broken("with a new image", { change: unstored }), /is of the revision .*, which is not stored/);
  const first: UnitedChange = (plan, { children }) => ({ ...plan, deletions: children.slice(0, 1) });
  t.throws(broken("with a new image", { change: first }), /the only workload of the subset a is deleted/);
  const early: UnitedChange = (plan, { revisions }) => ({ ...plan, surplus: revisions.slice(-1) });
  t.throws(broken("with a new image", { change: early }), /the revision .* is deleted, and is in use/);
  const stuck: UnitedChange = (plan) => ({ ...plan, brokenPods: [] });
  t.throws(
    broken("stuck with a bad image, then a good one", { change: stuck }),
    /it ends with 2 pods of an older/,
  );
  const silent: UnitedChange = (plan) => ({
    ...plan,
    status: plan.status && { ...plan.status, updatedReplicas: 0 },
  });
  t.throws(broken("made", { change: silent }), /it ends with the counts 2,2,0,2 in its status/);
});

t.test("wrong plans of an AdvancedCronJob are found", async (t) => {
  type Observed = Parameters<CronScenario["plan"]>[0];
  const broken = (name: string, read: (seen: Observed) => Observed) => {
    const scenario = named(cronScenarios(2), `AdvancedCronJob ${name}`);
    return () => explore(cronWorld({ ...scenario, plan: (seen) => scenario.plan(read(seen)) }, 0));
  };
  const spec =
    (change: object) =>
    (seen: Observed): Observed => ({ ...seen, job: { ...seen.job, spec: { ...seen.job.spec, ...change } } });
  const beside = spec({ concurrencyPolicy: "Allow" });
  t.throws(broken("that forbids runs beside each other", beside), /is run beside/);
  t.throws(broken("that replaces runs", beside), /does not replace/);
  t.throws(broken("paused, then resumed", spec({ paused: false })), /and the cron job is paused/);
  t.throws(broken("with a deadline", spec({ startingDeadlineSeconds: undefined })), /is run too late/);
  t.throws(broken("with a history of one", spec({ successfulJobsHistoryLimit: 0 })), /of 1 1 are deleted/);
  t.throws(broken("with a history of one", spec({ paused: true })), /it ends with the run of .* lost/);
  const early = (seen: Observed): Observed => ({ ...seen, now: seen.now + 60_000 });
  t.throws(broken("that allows runs beside each other", early), /is run too early/);
  const forgetful = (seen: Observed): Observed => ({ ...seen, children: [] });
  t.throws(broken("that forbids runs beside each other", forgetful), /is run beside/);
  const scenario = named(cronScenarios(2), "AdvancedCronJob without a history");
  const merged: CronScenario["result"] = (job, plan) => {
    const { exactStatus: _, ...result } = scenario.result(job, plan);
    return result;
  };
  t.throws(() => explore(cronWorld({ ...scenario, result: merged }, 1)), /runs twice/);
});

t.test("wrong guards and plans of a PodUnavailableBudget are found", async (t) => {
  const world = (name: string, broken: (actors: BudgetActors) => Partial<BudgetActors>) => {
    const scenario = named(budgetScenarios(2), `PodUnavailableBudget ${name}`);
    return () => budgetWorld(scenario, 0, broken);
  };
  type Observed = Parameters<BudgetActors["plan"]>[0];
  const misread =
    (change: (observed: Observed) => Partial<Observed>) =>
    ({ plan }: BudgetActors): Partial<BudgetActors> => ({
      plan: (observed) => plan({ ...observed, ...change(observed) }),
    });
  const tooFew = /0 pods stay, and 0 that are not known to have failed; 1 have to/;
  const evicted = "of pods that are evicted";

  const unguarded = world(evicted, ({ stepOf }) => ({
    async stepOf(...all) {
      const step = await stepOf(...all);
      if (step.is !== "writing") return step;
      const { metadata: _, ...patch } = { metadata: undefined, ...step.patch };
      return { ...step, patch };
    },
  }));
  await t.rejects(exploreAwaiting(unguarded()), tooFew, "races of replicas are not noticed");
  const silent = world(evicted, () => ({ stepOf: async () => ({ is: "decided", isAllowed: true }) }));
  await t.rejects(exploreAwaiting(silent()), /pod-1 is not recorded/);
  const byDate = world(
    "asked by a clock that is behind",
    misread(() => ({ knownFor: () => Number.POSITIVE_INFINITY })),
  );
  await t.rejects(exploreAwaiting(byDate()), tooFew, "dates alone count");
  const hasty = world(
    "asked about a pod that stays",
    misread(({ now }) => ({ now: now + 20_000, knownFor: () => 20_000 })),
  );
  await t.rejects(exploreAwaiting(hasty()), tooFew, "what was let pass is forgotten");
  const smaller = world(
    evicted,
    misread(() => ({ totalReplicas: 1 })),
  );
  t.throws(smaller, /the floor is 0, it has to be 1/);
});

t.test("wrong ledgers and plans of a WorkloadSpread are found", async (t) => {
  const broken = async (name: string, wrong: (actors: SpreadActors) => Partial<SpreadActors>) => {
    const scenario = named(spreadScenarios(2, 0), `WorkloadSpread ${name}`);
    return exploreAwaiting(spreadWorld(scenario, 0, wrong), 3000);
  };
  type Observed = Parameters<SpreadActors["plan"]>[0];
  type SpreadPlan = ReturnType<SpreadActors["plan"]>;
  const planned =
    (change: (plan: SpreadPlan) => Partial<SpreadPlan>) =>
    ({ plan }: SpreadActors): Partial<SpreadActors> => ({
      plan: (observed) => {
        const right = plan(observed);
        return { ...right, ...change(right) };
      },
    });
  const misread =
    (change: (observed: Observed) => Partial<Observed>) =>
    ({ plan }: SpreadActors): Partial<SpreadActors> => ({
      plan: (observed) => plan({ ...observed, ...change(observed) }),
    });
  const made = "of pods that are made";

  const unguarded = broken(made, ({ consulted }) => ({
    async consulted(...all) {
      const { process, answers } = await consulted(...all);
      const { step } = process;
      if (step.is !== "writing") return { process, answers };
      return { process: { ...process, step: { ...step, patch: step.patch.slice(1) } }, answers };
    },
  }));
  await t.rejects(
    unguarded,
    /the ledger of a has|is put into|the record of .* is lost/,
    "races are not noticed",
  );
  const last = broken(made, ({ consulted }) => ({
    async consulted(...all) {
      const { process, answers } = await consulted(...all);
      const elsewhere = (name: string) => name.replace('"subset":"a"', '"subset":"b"');
      const moved = answers.map((answer) => {
        const annotations = Object.entries(answer.pod.annotations).map(([key, text]) => [
          key,
          elsewhere(text),
        ]);
        return { ...answer, pod: { ...answer.pod, annotations: Object.fromEntries(annotations) } };
      });
      return { process, answers: moved };
    },
  }));
  await t.rejects(last, /pod-0 is put into b, not into a/);
  const forgetful = misread(({ object }) => {
    const { status: _, ...others } = object;
    return { object: others };
  });
  await t.rejects(broken(made, forgetful), /the record of pod-0 is lost/);
  const hasty = misread(({ now }) => ({ now: now + 30_000, knownFor: () => 30_000 }));
  await t.rejects(broken(made, hasty), /the record of pod-0 is lost/);
  const blind = misread(({ pods }) => ({ pods: pods.slice(1) }));
  await t.rejects(broken("scaled in", blind), /it ends with/);
  const free = planned(() => ({ patches: [] }));
  await t.rejects(broken("scaled in", free), /it ends with/);
  const patient = planned(() => ({ givenUp: [] }));
  await t.rejects(broken("of a zone in which no pod fits", patient), /it ends with/);
  const silent = planned(({ status }) => ({ status: { ...status, observedGeneration: 0 } }));
  await t.rejects(broken(made, silent), /it ends with a status of an older/);
});

t.test("wrong passes of an EphemeralJob are found", async (t) => {
  type Observed = Parameters<EphemeralScenario["pass"]>[0];
  type Passed = ReturnType<EphemeralScenario["pass"]>;
  const broken = (
    name: string,
    read: (seen: Observed) => Partial<Observed>,
    wrong: (passed: Passed) => Partial<Passed> = () => ({}),
  ) => {
    const scenario = named(ephemeralScenarios(2), `EphemeralJob ${name}`);
    const pass = (seen: Observed): Passed => {
      const passed = scenario.pass({ ...seen, ...read(seen) });
      return { ...passed, ...wrong(passed) };
    };
    return () => explore(ephemeralWorld({ ...scenario, pass }, 0));
  };
  const spec =
    (change: object) =>
    ({ job }: Observed) => ({ job: { ...job, spec: { ...job.spec, ...change } } });
  const result =
    (change: (result: NonNullable<Passed["result"]>) => Passed["result"]) =>
    (passed: Passed): Partial<Passed> => ({ result: passed.result && change(passed.result) });
  const rightly = () => ({});
  t.throws(broken("one at a time", spec({ parallelism: 2 })), /2 pods are at work, 1 may be/);
  t.throws(broken("in one pod less", spec({ replicas: 2 })), /it is the turn of pod-1/);
  t.throws(
    broken("paused, then resumed", spec({ paused: false })),
    /pod-1 are given containers, and the job is paused/,
  );
  t.throws(
    broken("ended by its deadline", spec({ activeDeadlineSeconds: 10 })),
    /it reports \["Failed",true/,
  );
  t.throws(broken("with a time to live", spec({ ttlSecondsAfterFinished: 0 })), /it is removed too early/);
  const unaware = ({ pods = new Map() }: Observed) => ({
    pods: new Map([...pods].map(([name, pod]) => [name, { ...pod, spec: {} }])),
  });
  t.throws(broken("one at a time", unaware), /pod-1 are given containers, it is the turn of pod-2/);
  const comes = named(ephemeralScenarios(1), "EphemeralJob with a pod that comes");
  const forgetful = (seen: Observed) => comes.pass({ ...seen, ended: undefined });
  t.throws(
    () => explore(ephemeralWorld({ ...comes, pass: forgetful }, 1)),
    /pod-new are given containers, and the end of the job is planned/,
  );
  const silent = result(({ status: _, ...others }) => others);
  t.throws(broken("one at a time", rightly, silent), /it ends with one: the status/);
  t.throws(broken("one at a time", spec({ parallelism: 0 })), /2 pods without the containers/);
  const endless = () => ({ isFollowing: true });
  t.throws(broken("one at a time", rightly, endless), /it ends with one following pods: true/);
});

t.test("wrong controllers of a ResourceDistribution are found", async (t) => {
  type Reconciler = ReturnType<DistributionScenario["make"]>;
  type Result = NonNullable<Awaited<ReturnType<Reconciler["reconcile"]>>>;
  type Effect = NonNullable<Result["effects"]>[number];
  type WriteEffect = Extract<Effect, { type: "writes" }>["writes"][number];
  const broken = (name: string, wrong: (result: Result) => Result) => {
    const scenario = named(distributionScenarios(2), `ResourceDistribution ${name}`);
    const make: typeof scenario.make = (deps) => {
      const whole = scenario.make(deps);
      return {
        writes: whole.writes ?? {},
        forget: (...all) => whole.forget?.(...all),
        executed: (...all) => whole.executed?.(...all),
        async reconcile(object, key) {
          const result = await whole.reconcile(object, key);
          return result && wrong(result);
        },
      };
    };
    return exploreAwaiting(distributionWorld({ ...scenario, make }, 0));
  };
  const writing =
    (change: (write: WriteEffect) => readonly WriteEffect[]) =>
    ({ effects = [], ...rest }: Result): Result => ({
      ...rest,
      effects: effects.map((effect) =>
        effect.type === "writes" ? { ...effect, writes: effect.writes.flatMap(change) } : effect,
      ),
    });
  const made = "as it was made";
  const unconfirmed = ({ effects = [], ...rest }: Result): Result => ({
    ...rest,
    effects: effects.filter(({ type }) => type !== "confirm object"),
  });
  await t.rejects(broken(made, unconfirmed), /create in ns-1 unconfirmed/);
  const unguarded = writing((write) => {
    if (write.type !== "patch" || write.patch.type === "json") return [write];
    return [{ ...write, patch: { type: "merge", body: { ...write.patch.body, metadata: {} } } }];
  });
  await t.rejects(broken("with other data", unguarded), /patch in ns-1 of any object/);
  const twice = writing((write) => [write, write]);
  await t.rejects(broken(made, twice), /ns-1 is written twice at a time/);
  const early = { desired: 2, succeeded: 2, observedGeneration: 1 };
  await t.rejects(
    broken(made, (result) => ({ ...result, status: early })),
    /2 copies are reported, there are 0/,
  );
  await t.rejects(
    broken(made, ({ status: _, ...rest }) => rest),
    /it ends with the counts/,
  );
  const idle = ({ effects: _, ...rest }: Result): Result => rest;
  await t.rejects(broken(made, idle), /it ends with no copy in ns-1,ns-2/);
});

t.test("wrong agents and controllers of a ContainerRecreateRequest are found", async (t) => {
  type Request = Parameters<RecreateScenario["pass"]>[0]["request"];
  type Deps = Parameters<RecreateScenario["make"]>[0];
  const broken = (
    name: string,
    containers: number,
    wrong: (scenario: RecreateScenario) => Partial<RecreateScenario>,
    mishaps = 0,
  ) => {
    const scenario = named(recreateScenarios(containers), `ContainerRecreateRequest ${name}`);
    return exploreAwaiting(recreateWorld({ ...scenario, ...wrong(scenario) }, mishaps));
  };
  const agent = (wrong: (deps: Deps) => Partial<Deps>) => () => ({ make: agentWith(wrong) });
  const asking = (change: (request: Request) => Request) =>
    agent(({ requests }) => ({
      requests: {
        ofPod: (key) => requests.ofPod(key).map(change),
        newest: (request) => requests.newest(request),
        writeStatus: async (...all) => change(await requests.writeStatus(...all)),
      },
    }));
  const withStrategy = (given: object) =>
    asking((request) => ({
      ...request,
      spec: { ...request.spec, strategy: { ...request.spec.strategy, ...given } },
    }));
  await t.rejects(
    broken("by force", 1, () => ({ make: forgetfulAgent }), 1),
    /c1 is restarted twice/,
  );
  await t.rejects(
    broken("of all containers", 1, withStrategy({ forceRecreate: true }), 1),
    /been restarted before/,
  );
  await t.rejects(broken("in order", 2, withStrategy({ orderedRecreate: false })), /it is not its turn/);
  const hasty = agent(({ clock }) => ({ clock: { ...clock, now: () => clock.now() + 5000 } }));
  await t.rejects(broken("whose containers have to run for a while", 1, hasty), /c1 has not come back yet/);
  const rash = asking(({ metadata: { resourceVersion: _, ...metadata }, ...rest }) => ({
    ...rest,
    metadata,
  }));
  await t.rejects(broken("of all containers", 1, rash), /the agent writes to any version/);
  const impatient = withStrategy({ unreadyGracePeriodSeconds: 1 });
  await t.rejects(broken("of a pod that is held not ready", 1, impatient), /the grace is not over/);

  type Observed = Parameters<RecreateScenario["pass"]>[0];
  type Result = Awaited<ReturnType<RecreateScenario["pass"]>>;
  const controller =
    (read: (seen: Observed) => Partial<Observed>, wrong: (result: Result) => Result = (result) => result) =>
    ({ pass }: RecreateScenario) => ({
      pass: async (seen: Observed) => wrong(await pass({ ...seen, ...read(seen) })),
    });
  const rightly = () => ({});
  const later = controller(({ now }) => ({ now: now + 10_000 }));
  await t.rejects(broken("ended by its deadline, or before", 1, later), /it is completed early/);
  await t.rejects(broken("with a time to live", 1, later), /it is removed too early/);
  const ungated = controller(({ pod }) => {
    const seenPod = pod && { ...pod, spec: {} };
    return { pod: seenPod, seenPod };
  });
  await t.rejects(broken("of a pod that is held not ready", 1, ungated), /the pod is not held/);
  const without = (type: string) =>
    controller(rightly, ({ effects = [], ...rest }) => ({
      ...rest,
      effects: effects.filter((effect) => effect.type !== type),
    }));
  await t.rejects(broken("of a pod that is held not ready", 1, without("patch")), /it ends with one/);
  await t.rejects(broken("of all containers", 1, without("patch object")), /it is still active/);
  const blind = controller(rightly, ({ effects = [], ...rest }) => ({
    ...rest,
    effects: effects.map((effect) => (effect.type === "patch status" ? { ...effect, exact: false } : effect)),
  }));
  await t.rejects(broken("of all containers", 1, blind), /its snapshot of c1|shown as/);
});

t.test("wrong passes of a SidecarTerminator are found", async (t) => {
  type Seen = Parameters<SidecarScenario["pass"]>[0];
  type Passed = Awaited<ReturnType<SidecarScenario["pass"]>>;
  const broken = (
    name: string,
    read: (seen: Seen) => Partial<Seen>,
    wrong: (passed: Passed) => Passed = (passed) => passed,
  ) => {
    const scenario = named(terminatorScenarios(2), `SidecarTerminator ${name}`);
    const pass: typeof scenario.pass = async (seen, now) =>
      wrong(await scenario.pass({ ...seen, ...read(seen) }, now));
    return exploreAwaiting(terminatorWorld({ ...scenario, pass }, 0));
  };
  const pod =
    (change: object) =>
    ({ pod: seen }: Seen) => ({ pod: seen && applyStrategicPatch(seen, change, "Pod") });
  const rightly = () => ({});
  const never = pod({ spec: { restartPolicy: "Never" } });
  await t.rejects(broken("of a job that is tried again", never), /sidecars are ended, and main-1 goes on/);
  const over = ["main-1", "main-2"].map((name) => ({ name, state: { terminated: { exitCode: 0 } } }));
  const early = pod({ status: { containerStatuses: [...over, { name: "side", state: { running: {} } }] } });
  await t.rejects(broken("of one sidecar", early), /sidecars are ended, and main-1,main-2 goes on/);
  const names = ({ pod: seen }: Seen) => ({
    pod: seen && Object(JSON.parse(JSON.stringify(seen).replaceAll("_IGNORE_EXIT_CODE", ""))),
  });
  await t.rejects(broken("of both sorts", names), /side,late are ended, side are to be/);
  const conditions = [{ type: "ContainersReady", status: "False", reason: "PodCompleted" }];
  const hasty = pod({ status: { conditions } });
  await t.rejects(
    broken("of a sidecar whose code is ignored", hasty),
    /late are ended, and the kubelet does not know of the result/,
  );
  const agent = () => ({ node: nodeOf(false) });
  await t.rejects(broken("by image", agent), /it ends with image,image-2 still at work/);
  const none = () => ({ node: nodeOf(true) });
  await t.rejects(broken("by image where an agent is", none), /images are replaced where an agent is/);
  await t.rejects(
    broken("of one sidecar", rightly, () => undefined),
    /it ends with side still at work/,
  );
});

t.test("wrong passes of launch priorities are found", async (t) => {
  type Reconciler = ReturnType<LaunchScenario["make"]>;
  type Passed = ReturnType<Reconciler["reconcile"]>;
  type Effect = NonNullable<NonNullable<Passed>["effects"]>[number];
  type Attempt = Extract<Effect, { type: "attempts" }>["attempts"][number];
  const broken = (name: string, wrong: (reconciler: Reconciler) => Reconciler) => {
    const scenario = named(launchScenarios(2), `LaunchPriority ${name}`);
    const make: typeof scenario.make = (deps) => wrong(scenario.make(deps));
    return () => explore(launchWorld({ ...scenario, make }, 0));
  };
  /** Attempts that somebody got wrong. */
  const attempting =
    (change: (attempt: Attempt) => Attempt) =>
    (reconciler: Reconciler): Reconciler => {
      const right = new WeakMap<object, NonNullable<Passed>>();
      return {
        reconcile(key) {
          const passed = reconciler.reconcile(key);
          if (passed === undefined) return undefined;
          const effects = passed.effects?.map((effect) =>
            effect.type === "attempts" ? { ...effect, attempts: effect.attempts.map(change) } : effect,
          );
          const result = { ...passed, effects: effects ?? [] };
          right.set(result, passed);
          return result;
        },
        executed: (key, result, outcomes) => reconciler.executed(key, right.get(result) ?? result, outcomes),
      };
    };
  const ordered = "in the order of the containers";
  const hasty = attempting(({ effect, ...rest }) => {
    if (effect.type !== "create") return { effect, ...rest };
    const data = { p_0: "true", "p_-1": "true" };
    return { effect: { ...effect, body: { ...effect.body, data } }, ...rest };
  });
  t.throws(broken(ordered, hasty), /p_-1 is given before a is ready/);
  const idle = (reconciler: Reconciler): Reconciler => ({
    reconcile: () => undefined,
    executed: (...all) => reconciler.executed(...all),
  });
  t.throws(broken(ordered, idle), /it ends with a,b waiting/);
  const unguarded = attempting(({ effect, ...rest }) => {
    if (effect.type !== "patch" || effect.patch.type !== "json") return { effect, ...rest };
    const body = effect.patch.body.filter(({ op }) => op !== "test");
    return { effect: { ...effect, patch: { type: "json", body } }, ...rest };
  });
  const former = "beside a ConfigMap of a pod that is gone";
  t.throws(broken(former, unguarded), /a pod is done with that lacks keys|it ends with/);
  const patient = (reconciler: Reconciler): Reconciler => ({
    reconcile: (key) => reconciler.reconcile(key),
    executed: () => undefined,
  });
  t.throws(broken("beside somebody's ConfigMap that goes", patient), /it ends with a,b waiting/);
});

t.test("wrong controllers and admission of a PersistentPodState are found", async (t) => {
  type Reconciler = ReturnType<RecordScenario["make"]>;
  type Result = NonNullable<Awaited<ReturnType<Reconciler["reconcile"]>>>;
  type Status = NonNullable<PersistentPodState["status"]>;
  const broken = (
    pods: number,
    name: string,
    wrong: (result: Result, object: PersistentPodState) => Result,
    more: Partial<Reconciler> = {},
  ) => {
    const scenario = named(persistentPodStateScenarios(pods), `PersistentPodState ${name}`);
    const make: typeof scenario.make = (deps) => {
      const whole = scenario.make(deps);
      return {
        ...(whole.remembersByStatus === true ? { remembersByStatus: true } : {}),
        ...more,
        forget: (...all) => whole.forget?.(...all),
        executed: (...all) => whole.executed?.(...all),
        reconcileAbsent: (key) => whole.reconcileAbsent?.(key),
        async reconcile(object, key) {
          const result = await whole.reconcile(object, key);
          return result && wrong(result, object);
        },
      };
    };
    return exploreAwaiting(recordsWorld({ ...scenario, make }, 0));
  };
  const recording =
    (change: (states: NonNullable<Status["podStates"]>, before: Status | undefined) => Status["podStates"]) =>
    ({ status, ...rest }: Result, object: PersistentPodState): Result => {
      if (status === undefined) return rest;
      const { podStates = {}, ...others }: Partial<Status> = status;
      return { ...rest, status: { ...others, podStates: change(podStates, object.status) } };
    };
  const rightly = (result: Result): Result => result;
  const nowhere = recording(() => undefined);
  await t.rejects(broken(1, "of pods that get ready", nowhere), /it records {} instead of/);
  const elsewhere = recording((states) =>
    Object.fromEntries(Object.entries(states).map(([name, each]) => [name, { ...each, nodeName: "node-9" }])),
  );
  await t.rejects(broken(1, "of pods that get ready", elsewhere), /it records .*node-9.* instead of/);
  const kept = recording((states, before) => ({ ...before?.podStates, ...states }));
  await t.rejects(broken(2, "scaled in", kept), /it ends with/);
  const silent = ({ status: _, ...rest }: Result): Result => rest;
  await t.rejects(broken(1, "of pods that get ready", silent), /it ends with/);
  const forgetful = broken(1, "of a pod that moves while it is new", rightly, {
    remembersByStatus: undefined,
  });
  await t.rejects(forgetful, /it ends with {}, and not \[\["web-0"/);
  const anywhere = broken(
    1,
    "asked for by a workload that is made again",
    ({ exactStatus: _, ...rest }) => rest,
  );
  await t.rejects(anywhere, /web-0 is recorded on node-0, where none of web-2 was ready/);
  const idle = ({ effects: _, ...rest }: Result): Result => rest;
  await t.rejects(broken(1, "asked for no more, and again", idle), /a record that is asked for no more/);

  const back = named(persistentPodStateScenarios(2), "PersistentPodState of a pod that comes back");
  const admission = exploreAwaiting(recordsWorld({ ...back, admit: () => undefined }, 0));
  await t.rejects(admission, /web-0 is admitted as/);
});
