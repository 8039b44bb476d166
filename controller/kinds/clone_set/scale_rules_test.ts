/**
 * Which pods one pass creates, deletes and hands to their hooks, against a second opinion that is written from the rules alone. Spec:
 * cloneset 4.4 (rules 22 to 29), 4.5, 4.6, 4.8 (rules 52 and 53).
 */
import fc from "fast-check";
import t from "tap";
import type { Labels } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { cloneSet, defaultOptions, Model } from "../../../testkit/controller/clone_set_model.ts";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { randomOf } from "../../../testkit/controller/workload_history.ts";
import { STATE_LABEL } from "../../rollout/lifecycle/lifecycle.ts";
import { SPECIFIED_DELETE } from "../../rollout/pods/pod_state.ts";
import { planCloneSet } from "./plan.ts";
import { cloneSetState } from "./state.ts";
import { REVISION_LABEL } from "./strategy.ts";

const HOOK = "example.com/held";
const zones: Readonly<Record<string, string>> = { n1: "a", n2: "b" };

const amount = fc.oneof(
  fc.integer({ min: 0, max: 6 }),
  fc.constantFrom("0%", "1%", "20%", "33%", "50%", "67%", "99%", "100%", "150%"),
);
const podShape = fc.record({
  revision: fc.constantFrom("new", "current", "current", "current", "older"),
  ready: fc.constantFrom(true, true, true, false),
  state: fc.constantFrom(
    ...["", "Normal", "Normal", "Normal", "Normal", "PreparingNormal"],
    ...["PreparingUpdate", "Updating", "Updated", "PreparingDelete"],
  ),
  specified: fc.constantFrom("", "", "", "", "label", "name"),
  hooked: fc.boolean(),
  end: fc.constantFrom("", "", "", "", "", "", "terminating", "Failed", "Succeeded"),
  node: fc.constantFrom("n1", "n1", "n2", ""),
  phase: fc.constantFrom("Running", "Running", "Running", "Pending", "Unknown"),
  cost: fc.constantFrom(undefined, undefined, "1", "-5", "007", "+3", "x", "2147483648"),
  readyFor: fc.nat(3),
  restarts: fc.nat(2),
  createdAt: fc.nat(3),
});
type Shape = typeof podShape extends fc.Arbitrary<infer P> ? P : never;
const situation = fc.record({
  replicas: fc.nat(6),
  partition: amount,
  maxUnavailable: amount,
  maxSurge: amount,
  scaleLimit: fc.option(amount, { nil: undefined }),
  rollback: fc.boolean(),
  exclude: fc.boolean(),
  preparingAsNew: fc.boolean(),
  mode: fc.constantFrom("rolling", "rolling", "rolling", "paused", "OnDelete"),
  preDelete: fc.constantFrom(undefined, "plain", "marks"),
  minReadySeconds: fc.constantFrom(0, 0, 2),
  spread: fc.boolean(),
  shapes: fc.array(podShape, { maxLength: 8 }),
});
type Situation = typeof situation extends fc.Arbitrary<infer S> ? S : never;
type Named = Shape & { readonly name: string };

interface Decided {
  readonly created: { readonly old: number; readonly updated: number };
  readonly back: number;
  readonly deleted: readonly string[];
  readonly held: readonly string[];
}

const share = (value: number | string, of: number, round: (share: number) => number): number =>
  typeof value === "number" ? value : round((Number.parseFloat(value) * of) / 100);

function limits({ replicas: n, partition, maxUnavailable, maxSurge, mode }: Situation) {
  if (mode === "OnDelete") return { p: 0, s: 0, u: Math.floor(n * 0.2) };
  const kept = share(partition, n, Math.ceil);
  const isWhole = typeof partition === "string" && partition !== "100%" && n > 1 && kept === n;
  const s = mode === "paused" ? 0 : share(maxSurge, n, Math.ceil);
  const u = share(maxUnavailable, n, s === 0 ? Math.ceil : Math.floor);
  return { p: Math.min(isWhole ? n - 1 : kept, n), s, u };
}

const isServing = ({ phase, ready, state }: Shape): boolean =>
  phase === "Running" && ready && (state === "" || state === "Normal");
const isLeaving = ({ state }: Shape): boolean => state === "PreparingDelete";
const isChosen = (pod: Shape): boolean => pod.specified !== "" && !isLeaving(pod);

function expected(at: Situation, pods: readonly Named[]): Decided {
  const { replicas: n, minReadySeconds, preDelete } = at;
  const { p, s, u } = limits(at);
  const active = pods.filter(({ end }) => end === "");
  const isAvailable = (pod: Shape) => isServing(pod) && pod.readyFor >= minReadySeconds;
  const isNew = ({ revision }: Shape) => revision === "new";
  const isNewHere = (pod: Shape) => isNew(pod) || (at.preparingAsNew && pod.state === "PreparingUpdate");
  const count = (is: (pod: Shape) => boolean) => active.filter(is).length;

  const chosen = count(isChosen);
  const unavailable = count((pod) => isLeaving(pod) || (!isChosen(pod) && !isAvailable(pod)));
  let oldOver = count((pod) => !isNew(pod) && !isLeaving(pod)) - p;
  let newOver = count((pod) => isNew(pod) && !isLeaving(pod)) - (n - p);
  if (!at.rollback) [oldOver, newOver] = [Math.max(oldOver, 0), Math.min(newOver, 0)];
  const forDeletion = Math.min(Math.max(unavailable + chosen - u, 0), chosen);
  const forUpdate = oldOver * newOver < 0 ? Math.min(Math.abs(oldOver), Math.abs(newOver)) : 0;
  const surge = Math.min(s, Math.max(forDeletion, forUpdate));
  const chosenNew = count((pod) => isChosen(pod) && isNew(pod));
  const isForUpdate = forUpdate > forDeletion;
  const oldSurge = isForUpdate
    ? Number(oldOver < 0) * surge
    : Math.min(surge, Math.max(forDeletion - chosenNew, 0));

  const nothing: Decided = { created: { old: 0, updated: 0 }, back: 0, deleted: [], held: [] };
  const revocable = preDelete === "marks" ? 0 : count((pod) => isLeaving(pod) && pod.specified === "");
  const back = Math.min(revocable, Math.max(0, n - count((pod) => !isLeaving(pod) && pod.specified === "")));
  if (back > 0) return { ...nothing, back };

  const counts = (pod: Shape) => !(at.exclude && isLeaving(pod));
  const missing = n + surge - count(counts);
  const haveOld = count((pod) => counts(pod) && !isNewHere(pod));
  const isHooked = ({ hooked }: Shape) => preDelete !== undefined && hooked;
  const letGo = active.filter((pod) => isLeaving(pod) && !isHooked(pod)).map(({ name }) => name);
  if (missing > 0) {
    const most = at.scaleLimit === undefined ? missing : share(at.scaleLimit, n, Math.ceil) - unavailable;
    const now = Math.min(missing, Math.max(0, most));
    const old = Math.min(now, missing, Math.max(0, p + oldSurge - haveOld));
    // Not rule 30 alone: where nothing may come, what was let go still goes (docs/compatibility.md).
    return { ...nothing, created: { old, updated: now - old }, deleted: now > 0 ? [] : letGo };
  }
  const deleted = [...letGo];
  const held: string[] = [];
  const surplus = Math.max(0, -missing - chosen);
  const chosenOld = count((pod) => isChosen(pod) && !isNewHere(pod));
  const surplusOld = Math.min(surplus, Math.max(0, haveOld - chosenOld - p - oldSurge));
  const ranked = (is: (pod: Shape) => boolean) =>
    inOrderOfDeletion(
      active.filter((pod) => is(pod) && !isLeaving(pod)),
      at,
    );
  const going = active.some((pod) => isLeaving(pod) || isChosen(pod))
    ? active.filter(isChosen)
    : [
        ...ranked((pod) => !isNewHere(pod)).slice(0, surplusOld),
        ...ranked(isNewHere).slice(0, surplus - surplusOld),
      ];
  // Not rule 27 alone: what is out of service by itself uses up the limit as well (docs/compatibility.md).
  const limit = u + active.length - n - unavailable;
  let room = limit - count((pod) => isChosen(pod) && !isServing(pod));
  let roomForAvailable = limit - count((pod) => isChosen(pod) && !isAvailable(pod));
  for (const pod of going) {
    if (isServing(pod) && room <= 0) continue;
    if (isAvailable(pod) && roomForAvailable <= 0) continue;
    if (isServing(pod)) room--;
    if (isAvailable(pod)) roomForAvailable--;
    (isHooked(pod) ? held : deleted).push(pod.name);
  }
  return { ...nothing, deleted, held };
}

type Key = (pod: Named) => number;

/** Rules 37 and 38. */
function inOrderOfDeletion(pods: readonly Named[], { minReadySeconds, spread }: Situation): Named[] {
  const cost = ({ cost: text }: Named) =>
    text !== undefined && /^(0|-?[1-9]\d*)$/.test(text) && Number(text) < 2 ** 31 ? Number(text) : 0;
  const first: Key[] = [
    ({ node }) => Number(node !== ""),
    ({ phase }) => ["Pending", "Unknown", "Running"].indexOf(phase),
    (pod) => Number(isServing(pod) && pod.readyFor >= minReadySeconds),
    (pod) => Number(pod.phase === "Running" && pod.ready),
    cost,
  ];
  const last: Key[] = [
    ({ ready, phase, readyFor }) => (ready && phase === "Running" ? readyFor - 1_000_000 : 0),
    ({ restarts }) => -restarts,
    ({ createdAt }) => -createdAt,
  ];
  const sorted = (list: readonly Named[], keys: readonly Key[]) =>
    [...list].sort((a, b) => {
      for (const key of keys) if (key(a) !== key(b)) return key(a) - key(b);
      return a.name < b.name ? -1 : 1;
    });
  const placeRanks = (placeOf: (pod: Named) => string | undefined, between: Key[], rank: typeof onNode) => {
    const ranks = new Map<Named, number>();
    const places = new Set(pods.map(placeOf).filter((place) => place !== undefined));
    for (const place of places) {
      const there = sorted(
        pods.filter((pod) => placeOf(pod) === place),
        [...first, ...between, ...last],
      );
      for (const [index, pod] of there.entries()) ranks.set(pod, rank(there.length, index, places.size));
    }
    return (pod: Named) => -(ranks.get(pod) ?? 0);
  };
  const onNode = (count: number, index: number, _places: number) => count - 1 - index;
  const byNode = placeRanks(({ node }) => node, [], onNode);
  const inZone = (count: number, index: number, places: number) => (count - index) * Math.log(places + 2);
  const byPlace = spread ? placeRanks(({ node }) => zones[node], [byNode], inZone) : byNode;
  return sorted(pods, [...first, byPlace, ...last]);
}

/** The set, with its three revisions stored and these pods. */
function worldOf(at: Situation) {
  const { mode, partition, maxUnavailable, maxSurge, scaleLimit, preDelete, spread, shapes } = at;
  const paused = mode === "paused";
  const constraint = { topologyKey: "zone", maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" };
  const model = new Model(
    cloneSet("web", {
      replicas: at.replicas,
      minReadySeconds: at.minReadySeconds,
      template: {
        metadata: { labels: { app: "web" } },
        spec: {
          containers: [{ name: "main", image: "app:0" }],
          ...(spread ? { topologySpreadConstraints: [constraint] } : {}),
        },
      },
      scaleStrategy: {
        ...(scaleLimit === undefined ? {} : { maxUnavailable: scaleLimit }),
        excludePreparingDelete: at.exclude,
        podsToDelete: shapes.flatMap(({ specified }, index) => (specified === "name" ? [nameOf(index)] : [])),
      },
      updateStrategy:
        mode === "OnDelete"
          ? { type: "OnDelete" }
          : { type: "RollingUpdate", rollingUpdate: { partition, maxUnavailable, maxSurge, paused } },
      ...(preDelete === undefined
        ? {}
        : {
            lifecycle: {
              preDelete: { labelsHandler: { [HOOK]: "true" }, markPodNotReady: preDelete === "marks" },
            },
          }),
    }),
  );
  const options = {
    ...defaultOptions,
    partitionRollback: at.rollback,
    preparingUpdateAsUpdate: at.preparingAsNew,
  };
  const random = randomOf(23);
  const nodeLabels = (node: string): Labels => {
    const zone = zones[node];
    return zone === undefined ? {} : { zone };
  };
  const plan = () => {
    const observed = { ...model.observed(), nodeLabels };
    return planCloneSet(cloneSetState({ observed, options, now: model.now, random }));
  };
  const revisions = { older: "", current: "", new: "" };
  for (const revision of ["older", "current", "new"] as const) {
    model.changeSpec((spec) => {
      for (const container of spec.template.spec.containers) container.image = `app:${revision}`;
    });
    for (const action of plan().actions) if (action.type === "create revision") model.perform(action);
    revisions[revision] = plan().status.updateRevision ?? "";
  }
  const { status } = plan();
  model.writeStatus({ ...status, currentRevision: revisions.current });
  model.now += 60_000;
  for (const [index, shape] of shapes.entries())
    model.pods.set(nameOf(index), podOf(nameOf(index), shape, revisions[shape.revision as "new"], model.now));
  return { plan, current: revisions.current };
}

const nameOf = (index: number): string => `web-p${index}`;

function podOf(name: string, shape: Shape, revision: string, now: number): Pod {
  const { end, state, specified, hooked, cost } = shape;
  const ready = shape.ready && shape.phase === "Running" ? "True" : "False";
  return barePod(name, {
    labels: {
      app: "web",
      [REVISION_LABEL]: revision,
      "pod-template-hash": "h",
      ...(state === "" ? {} : { [STATE_LABEL]: state }),
      ...(specified === "label" ? { [SPECIFIED_DELETE]: "" } : {}),
      ...(hooked ? { [HOOK]: "true" } : {}),
    },
    annotations: cost === undefined ? {} : { "controller.kubernetes.io/pod-deletion-cost": cost },
    controller: { group: "apps.kruise.io", kind: "CloneSet", name: "web", uid: "set-web" },
    nodeName: shape.node,
    phase: end === "Failed" || end === "Succeeded" ? end : shape.phase,
    deletionAt: end === "terminating" ? now : undefined,
    createdAt: shape.createdAt * 1000,
    conditions: [
      {
        type: "Ready",
        status: ready,
        reason: "",
        message: "",
        lastTransitionAt: now - shape.readyFor * 1000,
      },
    ],
    containerStatuses: [
      {
        name: "main",
        image: "a",
        imageID: "a",
        containerID: "a",
        ready: shape.ready,
        restartCount: shape.restarts,
      },
    ],
  });
}

function decided(at: Situation): Decided {
  const { plan, current } = worldOf(at);
  const created = { old: 0, updated: 0 };
  const deleted: string[] = [];
  const held: string[] = [];
  let back = 0;
  for (const action of plan().actions) {
    if (action.type === "create pod")
      created[action.after.labels[REVISION_LABEL] === current ? "old" : "updated"]++;
    if (action.type === "delete pod") deleted.push(action.pod.name);
    if (action.type !== "patch pod" || action.concern !== "scale") continue;
    if (action.after.labels[STATE_LABEL] === "PreparingDelete") held.push(action.pod.name);
    if (action.after.labels[STATE_LABEL] === "PreparingNormal") back++;
  }
  return { created, back, deleted, held };
}

t.test("property: who comes, who goes and who is held is what the rules say", (t) => {
  const seen = { created: 0, back: 0, deleted: 0, held: 0 };
  const sorted = ({ deleted, held, ...rest }: Decided) => ({
    ...rest,
    deleted: [...deleted].sort(),
    held: [...held].sort(),
  });
  fc.assert(
    fc.property(situation, (at) => {
      const wanted = expected(
        at,
        at.shapes.map((shape, index) => ({ ...shape, name: nameOf(index) })),
      );
      const found = decided(at);
      t.same(sorted(found), sorted(wanted), JSON.stringify(at));
      seen.created += wanted.created.old + wanted.created.updated;
      seen.back += wanted.back;
      seen.deleted += wanted.deleted.length;
      seen.held += wanted.held.length;
    }),
    { numRuns: 600, seed: 23 },
  );
  for (const [what, count] of Object.entries(seen)) t.ok(count > 20, `${what}: ${count}`);
  t.end();
});
