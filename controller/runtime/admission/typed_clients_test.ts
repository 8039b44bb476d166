/** What may not change is not changed by a typed client that writes an object back as it read it: every kind that has such parts. */
import t from "tap";
import { cloneJson, isJsonObject, type JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { defaulted, handlersOf, withGates } from "../../../testkit/controller/kind_admission.ts";
import { kinds } from "../../kinds.ts";

interface Case {
  readonly kind: string;
  readonly version?: "v1alpha1";
  /** As a manifest says it. */
  readonly plain: object;
  /** The same with zeros that mean nothing: typed clients write some and drop others. */
  readonly withZeros: object;
  /** Another object. */
  readonly other: object;
}

const app = { app: "web" };
const container = { name: "main", image: "web:1" };
const zeroContainer = { ...container, resources: {}, stdin: false, workingDir: "" };
const podOf = (spec: object) => ({ metadata: { labels: app }, spec: { containers: [container], ...spec } });
const zeroPodOf = (spec: object) => ({
  metadata: { labels: app, creationTimestamp: null },
  spec: { containers: [zeroContainer], hostNetwork: false, ...spec },
});
const selector = { matchLabels: app };
const zeroSelector = { matchLabels: app, matchExpressions: [] };
const otherSelector = { matchLabels: app, matchExpressions: [{ key: "app", operator: "Exists" }] };
const workload = { selector, template: podOf({}) };
const zeroWorkload = { selector: zeroSelector, template: podOf({}) };
const otherWorkload = { selector: otherSelector, template: podOf({}) };
const once = { restartPolicy: "Never" };
const gates = { readinessGates: [{ conditionType: "InPlaceUpdateReady" }] };
const inPlaceOnly = { updateStrategy: { rollingUpdate: { podUpdatePolicy: "InPlaceOnly" } } };
const schedule = "*/5 * * * *";
const claim = { metadata: { name: "data" }, spec: { resources: { requests: { storage: "1Gi" } } } };
const zeroClaim = { ...claim, metadata: { name: "data", creationTimestamp: null } };
const united = (template: object, subset: object = {}) => ({
  selector,
  template: { advancedStatefulSetTemplate: { metadata: { labels: app }, spec: template } },
  topology: { subsets: [{ name: "a", ...subset }] },
});
const term = { nodeSelectorTerm: { matchExpressions: [{ key: "zone", operator: "Exists" }] } };
const zeroTerm = {
  nodeSelectorTerm: { matchExpressions: [{ key: "zone", operator: "Exists", values: [] }], matchFields: [] },
  tolerations: [],
};
const recreated = { podName: "web-0", containers: [{ name: "main" }], strategy: { failurePolicy: "Fail" } };
const marker = (of: object) => ({
  selector: of,
  probes: [{ name: "p", containerName: "main", podConditionType: "p", probe: { exec: { command: ["a"] } } }],
});

const cases: readonly Case[] = [
  { kind: "CloneSet", plain: workload, withZeros: zeroWorkload, other: otherWorkload },
  { kind: "CloneSet", version: "v1alpha1", plain: workload, withZeros: zeroWorkload, other: otherWorkload },
  { kind: "StatefulSet", plain: workload, withZeros: zeroWorkload, other: otherWorkload },
  { kind: "DaemonSet", plain: workload, withZeros: zeroWorkload, other: otherWorkload },
  {
    kind: "StatefulSet",
    plain: workload,
    withZeros: { ...workload, serviceName: "", podManagementPolicy: "" },
    other: { ...workload, serviceName: "web" },
  },
  {
    kind: "StatefulSet",
    plain: { ...workload, ...inPlaceOnly, template: podOf(gates) },
    withZeros: { ...workload, ...inPlaceOnly, template: zeroPodOf(gates) },
    other: { ...workload, ...inPlaceOnly, template: podOf({ ...gates, hostNetwork: true }) },
  },
  {
    kind: "CloneSet",
    version: "v1alpha1",
    plain: { ...workload, updateStrategy: { type: "InPlaceOnly" }, template: podOf(gates) },
    withZeros: { ...workload, updateStrategy: { type: "InPlaceOnly" }, template: zeroPodOf(gates) },
    other: {
      ...workload,
      updateStrategy: { type: "InPlaceOnly" },
      template: podOf({ ...gates, hostNetwork: true }),
    },
  },
  {
    kind: "AdvancedCronJob",
    plain: { schedule, template: { jobTemplate: { spec: { template: podOf(once) } } } },
    withZeros: {
      schedule,
      template: {
        jobTemplate: { metadata: { creationTimestamp: null }, spec: { template: zeroPodOf(once) } },
      },
    },
    other: { schedule, template: { jobTemplate: { spec: { template: podOf(once), backoffLimit: 1 } } } },
  },
  {
    kind: "AdvancedCronJob",
    plain: { schedule, template: { broadcastJobTemplate: { spec: { template: podOf(once) } } } },
    withZeros: {
      schedule,
      template: {
        broadcastJobTemplate: {
          spec: {
            template: zeroPodOf(once),
            completionPolicy: {},
            failurePolicy: { restartLimit: 0 },
            paused: false,
          },
        },
      },
    },
    other: {
      schedule,
      template: { broadcastJobTemplate: { spec: { template: podOf(once), parallelism: 0 } } },
    },
  },
  {
    kind: "PodUnavailableBudget",
    plain: { selector, maxUnavailable: 1 },
    withZeros: { selector: zeroSelector, maxUnavailable: 1 },
    other: { selector: otherSelector, maxUnavailable: 1 },
  },
  {
    kind: "PodProbeMarker",
    version: "v1alpha1",
    plain: marker(selector),
    withZeros: marker(zeroSelector),
    other: marker(otherSelector),
  },
  {
    kind: "UnitedDeployment",
    plain: united({ ...workload, volumeClaimTemplates: [claim] }, term),
    withZeros: united(
      {
        ...workload,
        selector: zeroSelector,
        serviceName: "",
        volumeClaimUpdateStrategy: {},
        volumeClaimTemplates: [zeroClaim],
      },
      zeroTerm,
    ),
    other: united({ ...workload, volumeClaimTemplates: [claim], serviceName: "web" }, term),
  },
];

const withDefaults = withGates("AllAlpha=true,AllBeta=true,TemplateNoDefaults=false");
const asWritten = withGates("AllAlpha=true,AllBeta=true");

for (const [{ kind: name, version, plain, withZeros, other }, gated] of cases.flatMap((one) =>
  [withDefaults, asWritten].map((gates) => [one, gates] as const),
)) {
  t.test([name, ...(version ? [version] : [])].join(" "), async (t) => {
    const kind = kinds.find(({ resource }) => resource.kind === name);
    if (kind === undefined) throw new Error(`no kind ${name}`);
    const { group } = kind.resource;
    const apiVersion = `${group}/${version ?? kind.resource.version}`;
    const of = (spec: object): JsonObject => {
      const copy = cloneJson(spec);
      return {
        apiVersion,
        kind: name,
        metadata: { name: "sample", namespace: "default" },
        spec: isJsonObject(copy) ? copy : {},
      };
    };
    const [handler] = handlersOf(kind, "validating", gated);
    if (handler === undefined) throw new Error(`${name} has no validating webhook`);
    const answerTo = async (next: object, before: object) => {
      const oldObject = await defaulted(kind, of(before), undefined, gated);
      const object = await defaulted(kind, of(next), oldObject, gated);
      return handler(admissionRequest({ object, oldObject }));
    };
    t.match(await answerTo(withZeros, plain), { allowed: true }, "zeros come");
    t.match(await answerTo(plain, withZeros), { allowed: true }, "zeros go");
    t.match(await answerTo(other, plain), { allowed: false }, "a change is one");
  });
}

t.test("a request to recreate containers", async (t) => {
  const kind = kinds.find(({ resource }) => resource.kind === "ContainerRecreateRequest");
  if (kind === undefined) throw new Error("no such kind");
  const [handler] = handlersOf(kind, "mutating");
  const of = (spec: object): JsonObject => ({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ContainerRecreateRequest",
    metadata: { name: "sample", namespace: "default" },
    spec,
  });
  const answerTo = (next: object, before: object) =>
    handler?.(admissionRequest({ object: of(next), oldObject: of(before) }));
  const zeros = { failurePolicy: "Fail", orderedRecreate: false, forceRecreate: false, minStartedSeconds: 0 };
  t.match(await answerTo({ ...recreated, strategy: zeros }, recreated), { allowed: true });
  t.match(await answerTo(recreated, { ...recreated, strategy: zeros }), { allowed: true });
  const hasty = { failurePolicy: "Fail", terminationGracePeriodSeconds: 0 };
  t.match(await answerTo({ ...recreated, strategy: hasty }, recreated), { allowed: false, code: 403 });
});

t.test("what was stored while no webhook looked lacks the default of what may not change", async (t) => {
  const kind = kinds.find(
    ({ resource }) => resource.kind === "StatefulSet" && resource.group === "apps.kruise.io",
  );
  if (kind === undefined) throw new Error("no such kind");
  const metadata = { name: "sample", namespace: "default" };
  const apiVersion = "apps.kruise.io/v1beta1";
  const oldObject: JsonObject = { apiVersion, kind: "StatefulSet", metadata, spec: { ...workload } };
  const object = await defaulted(kind, { ...oldObject, spec: { ...workload, replicas: 3 } }, oldObject);
  const [handler] = handlersOf(kind, "validating");
  t.match(await handler?.(admissionRequest({ object, oldObject })), { allowed: true });
});
