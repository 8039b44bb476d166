import fc from "fast-check";
import t from "tap";
import { findCondition, seededRandom } from "../../kube/core/index.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { FakeCluster } from "../../testkit/sandbox/fake_cluster.ts";
import { createEventWriter } from "../events.ts";
import { objectsAt, valueAt } from "../json.ts";
import { planAutoscaler } from "./autoscaler_plan.ts";
import { Autoscalers } from "./autoscalers.ts";

const cpu = (target: object) => ({ type: "Resource", resource: { name: "cpu", target } });
const half = cpu({ type: "Utilization", averageUtilization: 50 });
const specOf = (...metrics: object[]) => ({
  scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
  minReplicas: 1,
  maxReplicas: 10,
  metrics,
});

t.test("the size follows the load, by utilization of requests or by value", async (t) => {
  const two = { replicas: 2, requestedCpu: 0.5 };
  t.match(planAutoscaler(specOf(half), two, 1.5), {
    replicas: 6,
    event: {
      reason: "SuccessfulRescale",
      message: /^New size: 6; reason: cpu resource utilization .* above target$/,
    },
    currentMetrics: [{ resource: { current: { averageUtilization: 150, averageValue: "750m" } } }],
  });
  const byValue = specOf(cpu({ type: "AverageValue", averageValue: "250m" }));
  t.equal(planAutoscaler(byValue, two, 1).replicas, 4);
  t.equal(planAutoscaler(specOf(half), two, 0.54).replicas, undefined, "within the tolerance");
  t.match(planAutoscaler(specOf(half), { ...two, replicas: 6 }, 0), {
    replicas: 1,
    event: { message: "New size: 1; reason: All metrics below target" },
  });
  const limited = planAutoscaler(specOf(half), two, 100);
  t.equal(limited.replicas, 10);
  t.match(findCondition(limited.conditions, "ScalingLimited"), { status: "True", reason: "TooManyReplicas" });
});

t.test("what cannot be worked out is said", async (t) => {
  const two = { replicas: 2, requestedCpu: 0.5 };
  const active = (...given: Parameters<typeof planAutoscaler>) =>
    findCondition(planAutoscaler(...given).conditions, "ScalingActive");
  t.match(active(specOf(half), two, undefined), {
    status: "False",
    reason: "FailedGetResourceMetric",
    message: /the sandbox measures no load of pods: annotate .*sandbox\.refit\.dev\/load/,
  });
  t.match(active(specOf(half), { replicas: 2, requestedCpu: 0 }, 1), { message: /missing request for cpu/ });
  t.match(active(specOf({ type: "External" }), two, 1), { reason: "FailedGetExternalMetric" });
  t.match(active(specOf(half), { replicas: 0, requestedCpu: 1 }, 1), { reason: "ScalingDisabled" });
  t.match(planAutoscaler(specOf(half), undefined, 1).conditions, [{ type: "AbleToScale", status: "False" }]);
  const partly = planAutoscaler(specOf(half, { type: "External" }), { ...two, replicas: 8 }, 0);
  t.equal(partly.replicas, undefined, "nothing is scaled in while a metric is missing");
});

t.test("sizes come to rest within their bounds, with enough pods for the load", async () => {
  const load = fc.double({ min: 0, max: 100, noNaN: true });
  fc.assert(
    fc.property(
      load,
      fc.integer({ min: 1, max: 30 }),
      fc.integer({ min: 20, max: 100 }),
      (load, start, goal) => {
        const spec = specOf(cpu({ averageUtilization: goal }));
        let replicas = start;
        for (let look = 0; look < 10; look++) {
          const next = planAutoscaler(spec, { replicas, requestedCpu: 1 }, load).replicas;
          if (next === undefined) {
            const isEnough = load / replicas <= (goal / 100) * 1.1 + 0.005;
            return replicas >= 1 && replicas <= 10 && (isEnough || replicas === 10);
          }
          replicas = next;
        }
        return false;
      },
    ),
    { seed: 20_260_101, numRuns: 2_000 },
  );
});

t.test(
  "targets of built-in and custom kinds are scaled; without a load the object says why not",
  async (t) => {
    const clock = testClock();
    const cluster = new FakeCluster();
    const errors: unknown[] = [];
    const events = createEventWriter(cluster, clock, seededRandom(1));
    cluster.create("customresourcedefinitions.apiextensions.k8s.io", {
      metadata: { name: "clonesets.apps.kruise.io" },
      spec: {
        group: "apps.kruise.io",
        names: { kind: "CloneSet" },
        versions: [{ name: "v1beta1", subresources: { scale: { specReplicasPath: ".spec.replicas" } } }],
      },
    });
    const template = { spec: { containers: [{ name: "c", resources: { requests: { cpu: "500m" } } }] } };
    const metadata = { namespace: "default", name: "web" };
    cluster.create("clonesets.apps.kruise.io", { metadata, spec: { replicas: 2, template } });
    const scaleTargetRef = { apiVersion: "apps.kruise.io/v1beta1", kind: "CloneSet", name: "web" };
    cluster.create("horizontalpodautoscalers.autoscaling", {
      metadata,
      spec: { ...specOf(half), scaleTargetRef },
    });
    const autoscalers = new Autoscalers({ cluster, clock, events, onError: (error) => errors.push(error) });
    t.teardown(() => autoscalers.stop());
    const ref = { namespace: "default", name: "web" };
    const autoscaler = () => cluster.get("horizontalpodautoscalers.autoscaling", ref);
    const size = () => valueAt(cluster.get("clonesets.apps.kruise.io", ref), "spec", "replicas");
    clock.skip(100);
    t.equal(size(), 2);
    t.match(objectsAt(autoscaler(), "status", "conditions"), [
      { type: "AbleToScale" },
      { type: "ScalingActive", status: "False", reason: "FailedGetResourceMetric" },
    ]);
    t.match([...cluster.list("events")], [{ reason: "FailedGetResourceMetric", count: 1 }]);
    cluster.update("horizontalpodautoscalers.autoscaling", ref, (draft) => {
      draft.metadata.annotations = { "sandbox.refit.dev/load": "1500m" };
    });
    clock.skip(100);
    t.equal(size(), 6);
    t.match(valueAt(autoscaler(), "status"), { currentReplicas: 2, desiredReplicas: 6 });
    clock.skip(15_000);
    t.match(valueAt(autoscaler(), "status"), { currentReplicas: 6, desiredReplicas: 6 });
    t.same(errors, []);
  },
);
