/** HorizontalPodAutoscalers: looks at their targets as often as Kubernetes does, and carries out the plan. */
import {
  type Condition,
  formatTime,
  isJsonObject,
  jsonEqual,
  refOf,
  setCondition,
} from "../../kube/core/index.ts";
import type { Next } from "../agenda.ts";
import { Reckoner } from "../amounts.ts";
import { annotationErrors, loadAnnotation, ofObject } from "../annotations.ts";
import type { Cluster, ClusterChange, StoredObject } from "../cluster.ts";
import { ClusterLoop, type LoopOptions } from "../cluster_loop.ts";
import type { EventWriter } from "../events.ts";
import { fieldsAt, listAt, numberAt, objectsAt, setAt, textAt } from "../json.ts";
import { hasTemplate } from "../objects/index.ts";
import { keyOfObject } from "../workloads/workload.ts";
import { planAutoscaler, type ScaleTarget } from "./autoscaler_plan.ts";

const resource = "horizontalpodautoscalers.autoscaling";
const definitions = "customresourcedefinitions.apiextensions.k8s.io";
const component = "horizontal-pod-autoscaler";
/** Between two looks at a target. */
const syncMs = 15_000;

interface AutoscalersOptions extends LoopOptions {
  readonly events: EventWriter;
}

export class Autoscalers extends ClusterLoop<AutoscalersOptions> {
  readonly #reckoner = new Reckoner();

  constructor(options: AutoscalersOptions) {
    super(options);
    this.follow(resource, (change) => {
      if (asksAnew(change)) this.agenda.add(keyOfObject(change.object));
    });
  }

  protected override work(key: string): Next {
    const { cluster, events } = this.options;
    const autoscaler = cluster.get(resource, refOf(key));
    if (autoscaler === undefined) return undefined;
    const spec = fieldsAt(autoscaler, "spec");
    const found = scalable(cluster, autoscaler);
    const target = found && this.#targetOf(found);
    const plan = planAutoscaler(spec, target, ofObject(autoscaler.metadata, loadAnnotation));
    const { replicas } = plan;
    if (found !== undefined && replicas !== undefined)
      cluster.update(found.resource, found.ref, (draft) => setAt(draft, found.specPath, replicas));
    if (plan.event !== undefined) {
      const { type, reason, message } = plan.event;
      events.write(autoscaler, type, reason, message, component);
    }
    for (const message of annotationErrors(autoscaler.metadata, "autoscaler"))
      events.write(autoscaler, "Warning", "InvalidAnnotation", message, component);
    this.#writeStatus(key, autoscaler, target, plan);
    return syncMs;
  }

  #targetOf({ object, specPath }: Scalable): ScaleTarget {
    const replicas = numberAt(object, ...specPath) ?? 1;
    const requested = hasTemplate(object)
      ? this.#reckoner.ofPod({ metadata: {}, spec: object.spec.template.spec })["cpu"]
      : undefined;
    return { replicas, requestedCpu: requested ?? 0 };
  }

  #writeStatus(
    key: string,
    { metadata: { generation } }: StoredObject,
    target: ScaleTarget | undefined,
    plan: ReturnType<typeof planAutoscaler>,
  ): void {
    const now = this.options.clock.now();
    this.options.cluster.update(resource, refOf(key), (draft) => {
      const before = fieldsAt(draft, "status");
      const known = listAt(before, "conditions").filter(isCondition);
      const conditions = plan.conditions.reduce<readonly Condition[]>(
        (list, next) => setCondition(list, next, now),
        known,
      );
      draft["status"] = {
        ...before,
        ...(generation === undefined ? {} : { observedGeneration: generation }),
        currentReplicas: target?.replicas ?? 0,
        desiredReplicas: plan.replicas ?? target?.replicas ?? 0,
        currentMetrics: plan.currentMetrics.length > 0 ? plan.currentMetrics : null,
        conditions,
        ...(plan.replicas === undefined ? {} : { lastScaleTime: formatTime(now) }),
      };
    });
  }
}

/** Not for a status, which is this component's own. */
function asksAnew(change: ClusterChange): boolean {
  if (change.type !== "MODIFIED") return change.type === "ADDED";
  const { object, before } = change;
  return (
    !jsonEqual(object["spec"], before["spec"]) ||
    !jsonEqual(object.metadata.annotations, before.metadata.annotations)
  );
}

function isCondition(value: unknown): value is Condition {
  return isJsonObject(value) && typeof value["type"] === "string" && typeof value["status"] === "string";
}

/** Where a target's size stands. */
interface Scalable {
  readonly resource: string;
  readonly ref: { readonly namespace: string; readonly name: string };
  readonly object: StoredObject;
  readonly specPath: readonly string[];
}

const builtin: ReadonlyMap<string, string> = new Map([
  ["apps/v1 Deployment", "deployments.apps"],
  ["apps/v1 ReplicaSet", "replicasets.apps"],
  ["apps/v1 StatefulSet", "statefulsets.apps"],
]);

function scalable(cluster: Cluster, autoscaler: StoredObject): Scalable | undefined {
  const reference = fieldsAt(autoscaler, "spec", "scaleTargetRef");
  const apiVersion = textAt(reference, "apiVersion");
  const kind = textAt(reference, "kind");
  const ref = { namespace: autoscaler.metadata.namespace ?? "", name: textAt(reference, "name") };
  const known = builtin.get(`${apiVersion} ${kind}`);
  const found =
    known === undefined
      ? customScale(cluster, apiVersion, kind)
      : { resource: known, specPath: ["spec", "replicas"] };
  const object = found && cluster.get(found.resource, ref);
  return found && object && { ...found, ref, object };
}

/** The scale subresource of a custom kind, from its definition. */
function customScale(
  cluster: Cluster,
  apiVersion: string,
  kind: string,
): { resource: string; specPath: readonly string[] } | undefined {
  const [group, version] = apiVersion.split("/");
  for (const definition of cluster.list(definitions)) {
    if (textAt(definition, "spec", "group") !== group) continue;
    if (textAt(definition, "spec", "names", "kind") !== kind) continue;
    const served = objectsAt(definition, "spec", "versions").find((one) => one["name"] === version);
    const path = textAt(served, "subresources", "scale", "specReplicasPath");
    if (path === "") return undefined;
    return { resource: definition.metadata.name ?? "", specPath: path.split(".").slice(1) };
  }
  return undefined;
}
