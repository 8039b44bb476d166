/**
 * What a HorizontalPodAutoscaler does next, pure. The sandbox measures nothing: the load is what an annotation says. Otherwise as
 * the controller of Kubernetes, but for `spec.behavior`: sizes are taken at once.
 */
import { type Condition, isQuantity, quantityValue } from "../../kube/core/index.ts";
import { type Fields, fieldsAt, numberAt, objectsAt, textAt } from "../json.ts";

/** The target as it is; undefined where there is none that can be scaled. */
export interface ScaleTarget {
  readonly replicas: number;
  /** Cores that one pod requests; 0 where it requests none. */
  readonly requestedCpu: number;
}

export interface AutoscalerPlan {
  /** Undefined: the target stays as it is. */
  readonly replicas?: number;
  /** Why it is scaled, or why that cannot be worked out; for an event. */
  readonly event?: { readonly type: "Normal" | "Warning"; readonly reason: string; readonly message: string };
  readonly conditions: readonly Condition[];
  readonly currentMetrics: readonly Fields[];
}

/** Relative differences up to this one are no reason to scale. */
const tolerance = 0.1;

type Measured =
  | { readonly wanted: number; readonly current: Fields; readonly name: string }
  | { readonly reason: string; readonly message: string };

/** `load`: cores that all pods use together; undefined where nobody has said it. */
export function planAutoscaler(
  spec: Fields,
  target: ScaleTarget | undefined,
  load: number | undefined,
): AutoscalerPlan {
  if (target === undefined) {
    const { kind, name } = fieldsAt(spec, "scaleTargetRef");
    const why = `${String(kind)} "${String(name)}" cannot be scaled or does not exist`;
    const message = `the HPA controller was unable to get the target's current scale: ${why}`;
    return failed("AbleToScale", "FailedGetScale", message);
  }
  const least = numberAt(spec, "minReplicas") ?? 1;
  const most = numberAt(spec, "maxReplicas") ?? least;
  const { replicas } = target;
  if (replicas === 0) {
    const message = "scaling is disabled since the replica count of the target is zero";
    return {
      conditions: [able, condition("ScalingActive", "False", "ScalingDisabled", message)],
      currentMetrics: [],
    };
  }
  if (replicas > most) return rescaled(most, "Current number of replicas above Spec.MaxReplicas");
  if (replicas < least) return rescaled(least, "Current number of replicas below Spec.MinReplicas");
  return byMetrics(objectsAt(spec, "metrics"), target, load, { least, most });
}

function byMetrics(
  metrics: readonly Fields[],
  target: ScaleTarget,
  load: number | undefined,
  { least, most }: { least: number; most: number },
): AutoscalerPlan {
  const measured = metrics.map((metric) => measure(metric, target, load));
  const known = measured.filter((one) => "wanted" in one);
  const unknown = measured.find((one) => "reason" in one);
  const highest = known.reduce((best, one) => (one.wanted > best.wanted ? one : best), known[0] ?? nothing);
  // What is not known may be high: then nothing is scaled in.
  if (unknown !== undefined && highest.wanted <= target.replicas) {
    const { conditions, event } = failed("ScalingActive", unknown.reason, unknown.message);
    return { conditions: [able, ...conditions], currentMetrics: [], ...(event ? { event } : {}) };
  }
  const wanted = Math.min(most, Math.max(least, highest.wanted));
  const active = condition(
    "ScalingActive",
    "True",
    "ValidMetricFound",
    `the HPA was able to successfully calculate a replica count from ${highest.name}`,
  );
  const currentMetrics = known.map(({ current }) => current);
  const rest = [active, limited(highest.wanted, wanted)];
  if (wanted === target.replicas) return { conditions: [able, ...rest], currentMetrics };
  const side = wanted > target.replicas ? `${highest.name} above target` : "All metrics below target";
  return { ...rescaled(wanted, side), conditions: [scaled(wanted), ...rest], currentMetrics };
}

const nothing = { wanted: 0, current: {}, name: "" };

function measure(
  metric: Fields,
  { replicas, requestedCpu }: ScaleTarget,
  load: number | undefined,
): Measured {
  const type = textAt(metric, "type");
  const unable = (message: string): Measured => ({
    reason: `FailedGet${type}Metric`,
    message: `the HPA was unable to compute the replica count: ${message}`,
  });
  const name = textAt(metric, "resource", "name");
  if (type !== "Resource" || name !== "cpu")
    return unable(`the sandbox knows the resource cpu alone, not ${name || `metrics of the type ${type}`}`);
  if (load === undefined) {
    const hint =
      "annotate the HorizontalPodAutoscaler with sandbox.refit.dev/load=CPU, or scale the target yourself";
    return unable(`the sandbox measures no load of pods: ${hint}`);
  }
  const used = load / replicas;
  const averageValue = `${Math.round(used * 1_000)}m`;
  const utilization = numberAt(metric, "resource", "target", "averageUtilization");
  const goal = textAt(metric, "resource", "target", "averageValue");
  if (utilization === undefined) {
    const value = isQuantity(goal) ? quantityValue(goal) : 0;
    if (value <= 0) return unable("the target of cpu is neither averageUtilization nor averageValue");
    const current = { type, resource: { name, current: { averageValue } } };
    return { wanted: wantedReplicas(replicas, used / value), current, name: "cpu resource" };
  }
  if (requestedCpu <= 0) return unable("missing request for cpu in the containers of the target");
  const averageUtilization = Math.round((used / requestedCpu) * 100);
  const current = { type, resource: { name, current: { averageUtilization, averageValue } } };
  const wanted = wantedReplicas(replicas, averageUtilization / Math.max(1, utilization));
  return { wanted, current, name: "cpu resource utilization (percentage of request)" };
}

function wantedReplicas(replicas: number, ratio: number): number {
  return Math.abs(ratio - 1) <= tolerance ? replicas : Math.ceil(replicas * ratio);
}

function condition(type: string, status: "True" | "False", reason: string, message: string): Condition {
  return { type, status, reason, message };
}

const able = condition("AbleToScale", "True", "ReadyForNewScale", "recommended size matches current size");

function scaled(replicas: number): Condition {
  const message = `the HPA controller was able to update the target scale to ${replicas}`;
  return condition("AbleToScale", "True", "SucceededRescale", message);
}

function limited(wanted: number, taken: number): Condition {
  const type = "ScalingLimited";
  if (wanted === taken)
    return condition(type, "False", "DesiredWithinRange", "the desired count is within the acceptable range");
  const [reason, bound] =
    wanted > taken
      ? ["TooManyReplicas", "more than the maximum"]
      : ["TooFewReplicas", "less than the minimum"];
  return condition(type, "True", reason, `the desired replica count is ${bound} replica count`);
}

function rescaled(replicas: number, why: string): AutoscalerPlan {
  const message = `New size: ${replicas}; reason: ${why}`;
  return {
    replicas,
    event: { type: "Normal", reason: "SuccessfulRescale", message },
    conditions: [scaled(replicas)],
    currentMetrics: [],
  };
}

function failed(type: string, reason: string, message: string): AutoscalerPlan {
  return {
    event: { type: "Warning", reason, message },
    conditions: [condition(type, "False", reason, message)],
    currentMetrics: [],
  };
}
