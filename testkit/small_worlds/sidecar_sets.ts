/** Small worlds of one SidecarSet, whose pods are there before it changes. Spec: sidecarset 29 to 43. */
import { planSidecarSet } from "../../controller/kinds/sidecar_set/plan.ts";
import { sidecarSetState } from "../../controller/kinds/sidecar_set/state.ts";
import {
  parseInjectedSidecars,
  type SidecarSet,
  sidecarSetHashAnnotation,
  sidecarSetHashWithoutImageAnnotation,
  upgradableCondition,
  writtenHashes,
} from "../../crds/index.ts";
import type { ContainerStatus, Pod } from "../../kube/index.ts";
import { injectedPod, SidecarModel, sidecarSetOf } from "../controller/sidecar_set_model.ts";
import { isReady } from "./plan_world.ts";
import {
  atRest,
  type Numbers,
  type RolledOutKind,
  type RolloutStage,
  type Scenario,
  stagesOf,
} from "./rollout_world.ts";

type Strategy = NonNullable<SidecarSet["spec"]["updateStrategy"]>;
type Sidecar = NonNullable<SidecarSet["spec"]["containers"]>[number];

interface Asked extends Strategy {
  /** Default: one that is restarted with its new image. */
  readonly sidecar?: (image: string) => Sidecar;
}

/** An image that nobody can pull. */
const BAD = "side:bad";
const EMPTY = "empty:1";
const canaries = { matchLabels: { canary: "true" } };
const plain = (image: string): Sidecar => ({ name: "side", image });
const withEnv = (image: string): Sidecar => ({ ...plain(image), env: [{ name: "A", value: "1" }] });
const pair = (image: string): Sidecar => ({
  ...plain(image),
  upgradeStrategy: { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: EMPTY },
});

export function sidecarSetScenarios(pods: number, mishaps: number): Scenario<SidecarSet>[] {
  const scenario = (name: string, ...stages: Scenario<SidecarSet>["stages"]): Scenario<SidecarSet> => ({
    name: `SidecarSet ${name}`,
    kind: planned(pods, stages[0]),
    stages,
  });
  const { before, after } = stagesOf(pods, stage, "side");
  const one: Asked = { maxUnavailable: 1 };
  const two: Asked = { maxUnavailable: 2 };
  const hot: Asked = { ...one, sidecar: pair };
  const image = "a new image";
  // New pods get what is new, whatever holds the others (rules 11 and 12).
  const held = (count: number): Partial<Numbers> => ({ mayBeNewest: count + mishaps });
  return [
    scenario("one at a time", before(one), after(image, one)),
    scenario("two at a time", before(two), after(image, two, { least: pods - 2 })),
    scenario(
      "held by its partition, then let go",
      before(one),
      after(image, { ...one, partition: 1 }, held(pods - 1)),
      after("no partition", one),
    ),
    scenario(
      "held by its selector, then let go",
      before(one),
      after(image, { ...one, selector: canaries }, held(1)),
      after("no selector", one),
    ),
    scenario(
      "paused, then resumed",
      before(one),
      after(image, { ...one, paused: true }, held(0)),
      after("resumed", one),
    ),
    scenario("undone", before(one), after(image, one), after("the old image", one, { newest: "side:1" })),
    scenario(
      "stuck with a bad image, then a good one",
      before(one),
      after("a bad image", one, { newest: BAD }),
      after("a good image", one),
    ),
    scenario(
      "not upgradable for a while",
      before(one),
      after("another environment, too", { ...one, sidecar: withEnv }, held(0)),
      after("the old environment", one),
    ),
    scenario("hot", before(hot), after(image, hot)),
    scenario(
      "hot, undone",
      before(hot),
      after(image, hot),
      after("the old image", hot, { newest: "side:1" }),
    ),
  ];
}

function planned(pods: number, { change }: RolloutStage<SidecarSet>): RolledOutKind<SidecarSet> {
  const set = sidecarSetOf();
  change(set.spec);
  const model = new Model(set);
  for (let count = 0; count < pods; count++)
    model.inject(count === 0 ? { app: "app", canary: "true" } : { app: "app" });
  return {
    model,
    namesMatter: false,
    isAvailable: isServing,
    // Rules 31 and 35: those that are old and not ready, or between the two of a pair.
    isFree: (pod, written) =>
      !(isReady(pod) && hasOneAtWork(pod)) &&
      hashOf(written) !== writtenHashes(undefined, model.set.spec).hash,
    isVersioned: true,
    mustNot: endsBoth,
    plan(inFlight, random) {
      const observed = model.observed(model.index(inFlight));
      const options = { systemNamespace: "kruise-system" };
      return planSidecarSet(sidecarSetState({ observed, options, now: model.now, random, explains: false }));
    },
  };
}

class Model extends SidecarModel {
  override inject(labels: Readonly<Record<string, string>>): Pod {
    // Versions never come back, and the key of a state looks for the whole of what follows the dash.
    const name = `app-#${this.stored().version}`;
    this.pods.set(name, { ...injectedPod(this.set, name), createdAt: this.now, labels });
    this.change(name, {});
    return this.pods.get(name) ?? injectedPod(this.set, name);
  }

  /** The version of a set is in the annotations of its pairs: one of chance would tell equal states apart. */
  override changeSpec(change: (spec: SidecarSet["spec"]) => void): void {
    super.changeSpec(change);
    const { metadata } = this.set;
    this.set = { ...this.set, metadata: { ...metadata, resourceVersion: `${metadata.generation}` } };
  }

  /** Whoever owns the pod makes another one at once. */
  override deletePod(name: string, uid?: string): void {
    super.deletePod(name, uid);
    this.inject(this.pods.get(name)?.labels ?? {});
  }

  /** Between the end of a container and its start it is not ready. What a kubelet tells of a pod comes at once. */
  override kubelet(name: string): boolean {
    const pod = this.pods.get(name);
    if (pod === undefined || pod.deletionAt !== undefined) return super.kubelet(name);
    const isOld = ({ name, image }: ContainerStatus): boolean => imageOf(pod, name) !== image;
    if (!pod.containerStatuses.some(isOld)) {
      if (pod.containers.some(({ image }) => image === BAD)) return false;
      let moved = false;
      while (super.kubelet(name)) moved = true;
      return moved;
    }
    const started = (status: ContainerStatus): ContainerStatus => {
      const image = imageOf(pod, status.name);
      const imageID = image === BAD ? "" : `sha256:${image}`;
      return { ...status, image, imageID, ready: false, restartCount: status.restartCount + 1 };
    };
    this.change(name, {
      containerStatuses: pod.containerStatuses.map((status) => (isOld(status) ? started(status) : status)),
      conditions: pod.conditions.map((one) =>
        one.type === "Ready" || one.type === "ContainersReady" ? { ...one, status: "False" } : one,
      ),
    });
    return true;
  }
}

function imageOf({ containers }: Pod, name: string): string {
  return containers.find((container) => container.name === name)?.image ?? "";
}

function hashOf({ annotations }: Pod, annotation = sidecarSetHashAnnotation): string | undefined {
  return parseInjectedSidecars(annotations[annotation])?.get("set")?.hash;
}

/** Beside the container `app`: of a pair the other one is at rest. */
function hasOneAtWork({ containers }: Pod): boolean {
  return containers.filter(({ image }) => image !== EMPTY).length === 2;
}

/** The node runs what the pod asks for, too. */
function isServing(pod: Pod): boolean {
  const isRunning = pod.containerStatuses.every(({ name, image }) => imageOf(pod, name) === image);
  return isReady(pod) && isRunning && hasOneAtWork(pod);
}

/** Rules 41 and 43: of a pair one always serves. */
function endsBoth(pod: Pod, after: Pod): string | undefined {
  const serving = pod.containerStatuses.filter(
    ({ name, image, ready }) =>
      name.startsWith("side-") && ready && image !== EMPTY && image === imageOf(pod, name),
  );
  if (serving.length === 0 || serving.some(({ name, image }) => imageOf(after, name) === image))
    return undefined;
  return `${serving.map(({ name }) => name).join()} of ${pod.name} served, and none goes on`;
}

function stage(
  name: string,
  { sidecar = plain, ...updateStrategy }: Asked,
  numbers: Numbers,
): RolloutStage<SidecarSet> {
  const { replicas, newest } = numbers;
  return {
    name,
    ...numbers,
    change(spec) {
      spec.containers = [sidecar(newest)];
      spec.updateStrategy = { type: "RollingUpdate", ...updateStrategy };
    },
    unsettled(pods, { metadata, spec, status }) {
      if (status === undefined) return "no status";
      if (status.observedGeneration !== metadata.generation)
        return `a status of generation ${status.observedGeneration}`;
      const { hash, hashWithoutImage } = writtenHashes(undefined, spec);
      // Made while more than the image differed: rule 32.
      const stays = (pod: Pod): boolean =>
        isRefused(pod) && hashOf(pod, sidecarSetHashWithoutImageAnnotation) !== hashWithoutImage;
      const { matchedPods, updatedPods, readyPods, updatedReadyPods = 0 } = status;
      const counts = [matchedPods, updatedPods, readyPods, updatedReadyPods].join();
      const updated = replicas - pods.filter(stays).length;
      if (counts !== [replicas, updated, replicas, updated].join())
        return `the counts ${counts} in its status`;
      const isDone = (pod: Pod): boolean => isServing(pod) && hashOf(pod) === hash && !isRefused(pod);
      const left = pods.find((pod) => !isDone(pod) && !stays(pod));
      return left === undefined ? atRest(pods, numbers) : `${left.name} as it was`;
    },
  };
}

function isRefused({ conditions }: Pod): boolean {
  return conditions.some(({ type, status }) => type === upgradableCondition && status === "False");
}
