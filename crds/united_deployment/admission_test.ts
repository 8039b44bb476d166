import t from "tap";
import { formatFieldErrors, isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import { defaultUnitedDeployment } from "./default.ts";
import { unitedDeployment } from "./schema.ts";
import { validateUnitedDeployment } from "./validate.ts";

const labels = { app: "sample" };
const pods = { metadata: { labels }, spec: { containers: [{ name: "nginx", image: "nginx:1.20" }] } };

function workload(spec: object = {}): JsonObject {
  return { metadata: { labels }, spec: { selector: { matchLabels: labels }, template: pods, ...spec } };
}

function object(spec: JsonObject, version = "v1beta1"): JsonObject {
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "UnitedDeployment",
    metadata: { name: "sample" },
    spec: { selector: { matchLabels: labels }, template: { deploymentTemplate: workload() }, ...spec },
  };
}

const options = { templateDefaults: true, hostNetworkPorts: false };

function read(value: JsonObject) {
  const found = unitedDeployment.read(value);
  if ("errors" in found) throw new Error(formatFieldErrors(found.errors));
  return found.object;
}

function refusal(spec: JsonObject, old?: JsonObject): string {
  const defaulted = (each: JsonObject) => read(defaultUnitedDeployment(object(each), options));
  return formatFieldErrors(validateUnitedDeployment(defaulted(spec), old && defaulted(old)));
}

const subsets = (...all: JsonObject[]) => ({ topology: { subsets: all } });
const zone = (value: string) => ({ matchExpressions: [{ key: "zone", operator: "In", values: [value] }] });

t.test("defaults, in both versions and once", async (t) => {
  for (const version of ["v1alpha1", "v1beta1"]) {
    const given = object(subsets({ name: "a", maxReplicas: 2 }, { name: "b" }), version);
    const filled = defaultUnitedDeployment(given, options);
    t.match(filled["spec"], {
      replicas: 1,
      revisionHistoryLimit: 10,
      updateStrategy: { type: "Manual", manualUpdate: {} },
      topology: { subsets: [{ minReplicas: 0 }, { minReplicas: 0 }] },
    });
    t.same(defaultUnitedDeployment(filled, options), filled);
  }
  const shares = defaultUnitedDeployment(object(subsets({ name: "a", replicas: 1 }, { name: "b" })), options);
  t.same(shares["spec"], {
    ...Object(shares["spec"]),
    ...subsets({ name: "a", replicas: 1 }, { name: "b" }),
  });
});

t.test("pods of native sets are filled in, when they are new", async (t) => {
  const given = object({
    template: { statefulSetTemplate: workload({ volumeClaimTemplates: [{ spec: {} }] }) },
  });
  const setIn = (value: JsonObject) => {
    const spec = isJsonObject(value["spec"]) ? value["spec"] : {};
    return Object(spec["template"]).statefulSetTemplate.spec;
  };
  const filled = defaultUnitedDeployment(given, options);
  t.match(setIn(filled), {
    template: { spec: { restartPolicy: "Always" } },
    volumeClaimTemplates: [{ status: { phase: "Pending" } }],
  });
  t.same(setIn(defaultUnitedDeployment(given, { ...options, old: given })), setIn(given));
  t.same(setIn(defaultUnitedDeployment(given, { ...options, templateDefaults: false })), setIn(given));
});

t.test("what is refused in template and selector", async (t) => {
  t.equal(refusal({}), "");
  t.match(refusal({ selector: {} }), /empty selector is invalid for statefulset/);
  t.match(refusal({ replicas: -1 }), /spec.replicas: Invalid value: -1: must be greater/);
  t.match(refusal({ template: {} }), /should provide one of statefulSetTemplate, .*, or deploymentTemplate/);
  const two = { deploymentTemplate: workload(), statefulSetTemplate: workload() };
  t.match(refusal({ template: two }), /should provide only one of statefulSetTemplate/);
  const other = { deploymentTemplate: { ...workload(), metadata: { labels: { app: "x" } } } };
  t.match(refusal({ template: other }), /deploymentTemplate.metadata.labels: Invalid value.*does not match/);
  const unused = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } }, replicas: 2 };
  for (const name of ["statefulSetTemplate", "advancedStatefulSetTemplate"]) {
    const message = refusal({ template: { [name]: workload(unused) } });
    t.match(message, `replicas in ${name} will not be used`);
    t.match(message, `partition in ${name} will not be used`);
    t.match(
      refusal({ template: { [name]: { ...workload(), metadata: {} } } }),
      "spec.template.statefulSetTemplate.metadata.labels",
    );
  }
  t.equal(refusal({ template: { cloneSetTemplate: workload({ replicas: 3 }) } }), "");
  const bad = { template: { ...pods, spec: { containers: [] } } };
  t.match(
    refusal({ template: { statefulSetTemplate: workload(bad) } }),
    /statefulSetTemplate.spec.template.spec.containers: Required/,
  );
});

t.test("what is refused in subsets", async (t) => {
  const cases: [JsonObject, string | RegExp][] = [
    [subsets({ name: "" }), "spec.topology.subsets[0].name: Required"],
    [subsets({ name: "a" }, { name: "a" }), "duplicated subset name a"],
    [subsets({ name: "A" }), "invalid subset name"],
    [
      subsets({ name: "a", nodeSelectorTerm: { matchExpressions: [{ key: "z", operator: "Is" }] } }),
      "spec.topology.subsets[0].nodeSelectorTerm.matchExpressions[0].operator",
    ],
    [
      subsets({ name: "a", tolerations: [{ operator: "Equals", key: "k" }] }),
      "subsets[0].tolerations[0].operator",
    ],
    [subsets({ name: "a", replicas: "x%" }), "should be correct percentage integer"],
    [subsets({ name: "a", replicas: "101%" }), "should be in range [0, 100]"],
    [
      subsets({ name: "a", replicas: "4" }),
      "only support integer value or percentage value with a suffix '%'",
    ],
    [subsets({ name: "a", replicas: -1 }, { name: "b" }), "subset replicas (-1) should not be less than 0"],
    [
      subsets({ name: "a", minReplicas: 3, maxReplicas: 2 }, { name: "b" }),
      "subset[0].minReplicas must be less",
    ],
    [subsets({ name: "a", minReplicas: 1 }, { name: "b", replicas: 1 }), "mutually exclusive"],
    [subsets({ name: "a", maxReplicas: 1 }), "at least one subset.maxReplicas must be empty"],
    [
      { replicas: 2, ...subsets({ name: "a", replicas: 3 }, { name: "b" }) },
      "replicas 3 should not be greater than UnitedDeployment replicas 2",
    ],
    [
      { replicas: 4, ...subsets({ name: "a", replicas: 3 }) },
      "replicas 3 should equal UnitedDeployment replicas 4",
    ],
  ];
  for (const [spec, words] of cases) t.match(refusal(spec), words);
  const adaptive = (more: object) => ({ scheduleStrategy: { type: "Adaptive", adaptive: more } });
  const fixed = { topology: { ...adaptive({}), subsets: [{ name: "a", replicas: 1 }] } };
  t.match(refusal(fixed), /subsets\[0\].replicas: Forbidden: specify replicas use minReplicas/);
  const reserve = { topology: { ...adaptive({ reserveUnschedulablePods: true }), subsets: [{ name: "a" }] } };
  t.equal(refusal(reserve), "");
  t.match(
    refusal({ ...reserve, template: { advancedStatefulSetTemplate: workload() } }),
    /spec.topology.scheduleStrategy: .*only stateless workloads/,
  );
  t.match(
    refusal({
      ...subsets({ name: "a" }),
      updateStrategy: { manualUpdate: { partitions: { "subset-x": 1 } } },
    }),
    /spec.updateStrategy.manualUpdate.partitions: .*subset subset-x does not exist/,
  );
});

t.test("what may not change", async (t) => {
  const placed = subsets({ name: "a", nodeSelectorTerm: zone("a") }, { name: "b", tolerations: [] });
  const turned = subsets({ name: "b", tolerations: [] }, { name: "a", nodeSelectorTerm: zone("a") });
  t.equal(refusal(turned, placed), "", "the order may");
  const moved = subsets({ name: "a", nodeSelectorTerm: zone("c") });
  t.equal(
    refusal(moved, placed),
    "spec.topology.subsets[0].nodeSelectorTerm: Forbidden: may not be changed in an update",
  );
  const native = (more: object) => ({ template: { statefulSetTemplate: workload(more) } });
  t.equal(refusal(native({ minReadySeconds: 4 }), native({})), "");
  t.match(refusal(native({ serviceName: "x" }), native({})), /updates to statefulsetTemplate spec/);
  const advanced = (more: object) => ({ template: { advancedStatefulSetTemplate: workload(more) } });
  t.match(
    refusal(advanced({ serviceName: "x" }), advanced({})),
    /updates to advancedStatefulsetTemplate spec/,
  );
  t.equal(refusal(advanced({ serviceName: "x" }), native({})), "", "another kind of template");
});
