/** Random workloads and pods against a plain reading of whose pods a budget counts, and of how many. Spec: protection A4, rules 1 to 4. */
import fc from "fast-check";
import t from "tap";
import type { PodUnavailableBudget } from "../../../crds/index.ts";
import type { ControllerOf, Pod } from "../../../kube/index.ts";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { type FoundWorkload, podsOfTarget, replicasOfControllers, type WorkloadSource } from "./workloads.ts";

const kinds = {
  Deployment: "apps",
  ReplicaSet: "apps",
  StatefulSet: "apps.kruise.io",
  CloneSet: "apps.kruise.io",
  // With a scale subresource, and without.
  Rollout: "argoproj.io",
  Plain: "example.com",
} as const;
type Kind = keyof typeof kinds;
const names = ["a", "b"] as const;

const workload = fc.record({
  /** Undefined: there is none. The other one has taken the name of a former one. */
  uid: fc.constantFrom("1", "1", "1", "2", undefined),
  replicas: fc.integer({ min: 0, max: 5 }),
  terminating: fc.constantFrom(false, false, false, true),
  /** Of a ReplicaSet. */
  owner: fc.constantFrom<Kind | undefined>(undefined, "Deployment", "Deployment", "Rollout"),
});
type Given = typeof workload extends fc.Arbitrary<infer G> ? G : never;
const keys = Object.keys(kinds).flatMap((kind) => names.map((name) => `${kind} ${name}`));
const cluster = fc
  .tuple(...keys.map(() => workload))
  .map((all) => new Map(keys.map((key, at) => [key, all[at]])));
const pod = fc.record({
  kind: fc.constantFrom<Kind | undefined>(
    undefined,
    "ReplicaSet",
    "ReplicaSet",
    "StatefulSet",
    "CloneSet",
    "Rollout",
  ),
  name: fc.constantFrom(...names),
  phase: fc.constantFrom("Running", "Running", "Running", "Failed"),
  terminating: fc.constantFrom(false, false, false, true),
});

const uidOf = (kind: string, name: string, uid: string) => `${kind}-${name}-${uid}`;
const controllerOf = (kind: Kind, name: string): ControllerOf => {
  return { group: kinds[kind], kind, name, uid: uidOf(kind, name, "1") };
};

function podOf(
  { kind, name, phase, terminating }: typeof pod extends fc.Arbitrary<infer G> ? G : never,
  index: number,
): Pod {
  return barePod(`p${index}`, {
    phase,
    deletionAt: terminating ? 1 : undefined,
    controller: kind === undefined ? undefined : controllerOf(kind, name),
    labels: kind === "ReplicaSet" ? { of: name } : {},
  });
}

function sourceOf(all: ReadonlyMap<string, Given | undefined>): WorkloadSource {
  const find = (kind: string, name: string): FoundWorkload | undefined => {
    const found = all.get(`${kind} ${name}`);
    if (found?.uid === undefined) return undefined;
    const { replicas, terminating, owner } = found;
    const controller = kind === "ReplicaSet" && owner !== undefined ? controllerOf(owner, name) : undefined;
    return { uid: uidOf(kind, name, found.uid), replicas, terminating, controller };
  };
  return {
    known: (_, group, kind, name) => (group.startsWith("apps") ? find(kind, name) : "unknown"),
    replicaSetsOf: (_, uid) =>
      names.flatMap((name) => {
        const set = find("ReplicaSet", name);
        return set?.controller?.uid === uid && !set.terminating ? [set.uid] : [];
      }),
    async scaleOf({ kind, name }) {
      const found = find(kind, name);
      if (found === undefined) return undefined;
      if (kind === "Plain") return { uid: found.uid, replicas: -1, selector: "" };
      return { uid: found.uid, replicas: found.replicas, selector: `of=${name}` };
    },
  };
}

/** Rule 4. */
function total(all: ReadonlyMap<string, Given | undefined>, pods: readonly Pod[]): number {
  const counted = new Map<string, number>();
  for (const { controller, phase, deletionAt } of pods) {
    if (controller === undefined || phase === "Failed" || deletionAt !== undefined) continue;
    let { kind, name } = controller;
    let found = all.get(`${kind} ${name}`);
    if (found?.uid !== "1") continue;
    if (kind === "ReplicaSet" && found.owner === "Deployment") {
      kind = "Deployment";
      found = all.get(`Deployment ${name}`);
      if (found?.uid !== "1") continue;
    }
    // Whoever asks for a scale does not see whether the object is being deleted.
    if (!found.terminating || kind === "Rollout") counted.set(`${kind} ${name}`, found.replicas);
  }
  return [...counted.values()].reduce((sum, each) => sum + each, 0);
}

t.test("property: the replicas of all workloads of the pods, each once", async (t) => {
  const property = fc.asyncProperty(cluster, fc.array(pod, { maxLength: 6 }), async (all, given) => {
    const pods = given.map(podOf);
    const found = await replicasOfControllers("default", pods, sourceOf(all));
    const want = total(all, pods);
    if (found !== want) throw new Error(JSON.stringify({ all: [...all], given, found, want }));
  });
  await t.resolves(fc.assert(property, { seed: 61, numRuns: 2_000 }));
});

/** Rules 1 to 3. */
function target(all: ReadonlyMap<string, Given | undefined>, pods: readonly Pod[], kind: Kind, name: string) {
  const isWatched = kinds[kind].startsWith("apps");
  const found = all.get(`${kind} ${name}`);
  const replicas = kind === "Plain" ? -1 : (found?.replicas ?? 0);
  if (found?.uid === undefined || (isWatched && found.terminating) || replicas === 0)
    return { pods: [], total: 0 };
  const uids = [uidOf(kind, name, found.uid)];
  const set = all.get(`ReplicaSet ${name}`);
  const isBelow =
    kind === "Deployment" && found.uid === "1" && set?.owner === "Deployment" && !set.terminating;
  if (isBelow && set.uid !== undefined) uids.push(uidOf("ReplicaSet", name, set.uid));
  const owned = pods.filter(({ controller }) => uids.includes(controller?.uid ?? ""));
  const isSelecting = kind === "Rollout" && owned.length === 0;
  return { pods: isSelecting ? pods.filter(({ labels }) => labels["of"] === name) : owned, total: replicas };
}

t.test("property: the pods of a target, and how many it wants", async (t) => {
  const kind = fc.constantFrom<Kind>(
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "CloneSet",
    "Rollout",
    "Plain",
  );
  const property = fc.asyncProperty(
    cluster,
    fc.array(pod, { maxLength: 6 }),
    kind,
    async (all, given, kind) => {
      const pods = given.map(podOf);
      const object: PodUnavailableBudget = {
        metadata: { name: "three", namespace: "default" },
        spec: { targetRef: { apiVersion: `${kinds[kind]}/v1`, kind, name: "a" }, maxUnavailable: 1 },
      };
      const { pods: found, totalReplicas } = await podsOfTarget(object, pods, sourceOf(all));
      const want = target(all, pods, kind, "a");
      const namesOf = (some: readonly Pod[]) => some.map(({ name }) => name).join();
      if (namesOf(found) !== namesOf(want.pods) || totalReplicas !== want.total)
        throw new Error(
          JSON.stringify({ all: [...all], given, kind, found: namesOf(found), totalReplicas, want }),
        );
    },
  );
  await t.resolves(fc.assert(property, { seed: 62, numRuns: 2_000 }));
});
