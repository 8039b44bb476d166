/**
 * Clients that have types for an object write it back as these say: without zeros and empty members, with `{}` and null where
 * their types cannot leave them out, and with amounts in their shortest form. To none of that may an update owe a refusal.
 */
import t from "tap";
import { wireStruct } from "../../../crds/index.ts";
import { encodeTyped, type JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { defaulted, handlersOf } from "../../../testkit/controller/kind_admission.ts";
import { kinds } from "../../kinds.ts";
import { objectAt } from "../../native/json_fields.ts";

interface Written {
  readonly kind: string;
  readonly spec: JsonObject;
  readonly typed: (spec: JsonObject) => JsonObject;
}

const selector = { matchLabels: { app: "web" }, matchExpressions: [] };
const podSpec = {
  volumes: [],
  containers: [
    {
      name: "main",
      image: "app:1",
      env: [],
      command: [],
      resources: { limits: { cpu: "1000m", memory: "1024Mi" } },
      livenessProbe: { exec: { command: ["true"] }, initialDelaySeconds: 0 },
      securityContext: {},
    },
  ],
};
const template = { metadata: { labels: { app: "web" }, annotations: {} }, spec: podSpec };
const jobPods = { ...template, spec: { ...podSpec, restartPolicy: "Never" } };
const claims = [
  {
    metadata: { name: "data", labels: {} },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1024Mi" } } },
  },
];

const asTyped = (value: unknown, type: string) => encodeTyped(value, type, wireStruct);
const typedTemplate = (type: string) => (spec: JsonObject) => ({
  ...spec,
  template: asTyped(objectAt(spec, "template"), type),
});
const typedSpec = (type: string) => (spec: JsonObject) => asTyped(spec, type);
const typedWorkload = (spec: JsonObject) => ({
  ...typedTemplate("PodTemplateSpec")(spec),
  selector: asTyped(objectAt(spec, "selector"), "LabelSelector"),
});
const inPlaceOnly = { type: "RollingUpdate", rollingUpdate: { podUpdatePolicy: "InPlaceOnly" } };
const gated = {
  ...template,
  spec: { ...podSpec, readinessGates: [{ conditionType: "InPlaceUpdateReady" }] },
};
const subsets = [{ name: "a", nodeSelectorTerm: {}, tolerations: [] }, { name: "b" }];
const typedSubsets = [{ name: "a" }, { name: "b", nodeSelectorTerm: {} }];
const subsetSpec = { replicas: 1, selector, template, volumeClaimTemplates: claims, serviceName: "" };

function united(name: string): Written {
  const spec = { replicas: 2, selector, topology: { subsets }, template: { [name]: { spec: subsetSpec } } };
  const typed = (given: JsonObject) => ({
    ...typedTemplate("SubsetTemplate")(given),
    selector: asTyped(selector, "LabelSelector"),
    topology: { subsets: typedSubsets },
  });
  const labels = { metadata: { labels: { app: "web" } } };
  return {
    kind: "UnitedDeployment",
    spec: { ...spec, template: { [name]: { ...labels, spec: subsetSpec } } },
    typed,
  };
}

const written: readonly Written[] = [
  { kind: "CloneSet", spec: { replicas: 1, selector, template }, typed: typedSpec("CloneSetSpec") },
  { kind: "DaemonSet", spec: { selector, template }, typed: typedWorkload },
  {
    kind: "StatefulSet",
    spec: { replicas: 1, selector, serviceName: "", template, volumeClaimTemplates: claims },
    typed: typedSpec("AdvancedStatefulSetSpec"),
  },
  {
    kind: "StatefulSet",
    spec: { replicas: 1, selector, template: gated, updateStrategy: inPlaceOnly },
    typed: typedSpec("AdvancedStatefulSetSpec"),
  },
  united("statefulSetTemplate"),
  united("advancedStatefulSetTemplate"),
  {
    kind: "AdvancedCronJob",
    spec: {
      schedule: "0 0 * * *",
      template: {
        broadcastJobTemplate: {
          spec: { paused: false, failurePolicy: { restartLimit: 0 }, template: jobPods },
        },
      },
    },
    typed: typedTemplate("CronJobTemplates"),
  },
  {
    kind: "AdvancedCronJob",
    spec: { schedule: "0 0 * * *", template: { jobTemplate: { metadata: {}, spec: { template: jobPods } } } },
    typed: typedTemplate("CronJobTemplates"),
  },
  {
    kind: "PodProbeMarker",
    spec: {
      selector,
      probes: [
        { name: "a", containerName: "main", podConditionType: "a", probe: { exec: { command: ["true"] } } },
      ],
    },
    typed: (spec) => ({ ...spec, selector: asTyped(selector, "LabelSelector") }),
  },
];

for (const [index, { kind: name, spec, typed }] of written.entries()) {
  t.test(`${index} ${name}`, async (t) => {
    const kind = kinds.find(({ resource }) => resource.kind === name);
    const [handler] = kind === undefined ? [] : handlersOf(kind, "validating");
    if (kind === undefined || handler === undefined) throw new Error(`${name} has no validating webhook`);
    const { group, version } = kind.resource;
    const metadata = { name: "sample", namespace: "default" };
    const byHand = { apiVersion: `${group}/${version}`, kind: name, metadata, spec };
    const byHandStored = await defaulted(kind, byHand);
    const byType = { ...byHandStored, spec: typed(objectAt(byHandStored, "spec")) };
    const byTypeStored = await defaulted(kind, byType);
    const answer = async (object: JsonObject, oldObject: JsonObject) =>
      handler(admissionRequest({ object: await defaulted(kind, object, oldObject), oldObject }));
    t.notSame(byType, byHandStored);
    t.match(await answer(byType, byHandStored), { allowed: true }, "written by hand, then by a typed client");
    t.match(await answer(byHand, byTypeStored), { allowed: true }, "and the other way about");
  });
}
