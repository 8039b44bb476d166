import t from "tap";
import { applyJsonPatch, isJsonObject, type JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { handlerOf } from "../../../testkit/controller/kind_admission.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import type { AdmissionRequest, AdmissionResponse } from "../../runtime/admission/request.ts";
import { parseFeatureGates } from "../../runtime/feature_gates.ts";
import { controllerOptions } from "../../runtime/options.ts";
import { statefulSetWebhooks } from "./admit.ts";

const gates = ["ResourcesDeletionProtection", "StatefulSetAutoDeletePVC", "StatefulSetAutoResizePVCGate"];
const options = controllerOptions({ gates: parseFeatureGates(gates.map((gate) => `${gate}=true`).join()) });
const server = fakeServer();
for (const [name, allowVolumeExpansion] of Object.entries({ wide: true, fixed: false }))
  server.put("storageclasses.storage.k8s.io", { metadata: { name }, allowVolumeExpansion });
const deps = { client: server.client, options };
const mutate = handlerOf(statefulSetWebhooks, "mutating", deps);
const validate = handlerOf(statefulSetWebhooks, "validating", deps);

function set(spec: object = {}, version = "v1beta1"): JsonObject {
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "StatefulSet",
    metadata: { name: "web" },
    spec: {
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "nginx", image: "nginx:1.20" }] },
      },
      ...spec,
    },
  };
}

function request(object: JsonObject | undefined, oldObject?: JsonObject): AdmissionRequest {
  return admissionRequest({ object, oldObject });
}

async function defaulted(object: JsonObject): Promise<JsonObject> {
  const response = await mutate(request(object));
  if (!response.allowed) throw new Error(response.message);
  const result = applyJsonPatch(object, [...(response.patch ?? [])]);
  return isJsonObject(result) ? result : {};
}

async function answer(object: JsonObject, old?: JsonObject): Promise<AdmissionResponse> {
  const before = old === undefined ? undefined : await defaulted(old);
  return validate(request(await defaulted(object), before));
}

async function words(spec: object, oldSpec?: object): Promise<string> {
  const response = await answer(set(spec), oldSpec === undefined ? undefined : set(oldSpec));
  if (response.allowed) return "";
  t.equal(response.code, 422);
  return response.message;
}

const rolling = (rollingUpdate: object, more: object = {}) => ({
  podManagementPolicy: "Parallel",
  updateStrategy: { type: "RollingUpdate", rollingUpdate },
  ...more,
});

t.test("defaults of both versions, applied once", async (t) => {
  const { spec } = await defaulted(set({ volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] }));
  t.match(spec, {
    replicas: 1,
    podManagementPolicy: "OrderedReady",
    revisionHistoryLimit: 10,
    updateStrategy: {
      type: "RollingUpdate",
      rollingUpdate: { partition: 0, maxUnavailable: 1, minReadySeconds: 0, podUpdatePolicy: "ReCreate" },
    },
    volumeClaimUpdateStrategy: { type: "OnDelete" },
    persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
    volumeClaimTemplates: [{ status: { phase: "Pending" } }],
    template: { spec: { restartPolicy: "Always", containers: [{ imagePullPolicy: "Always" }] } },
  });
  const alpha = await defaulted(set({}, "v1alpha1"));
  t.notHas(alpha["spec"], { persistentVolumeClaimRetentionPolicy: {} });
  t.same(await defaulted(alpha), alpha);
  const onDelete = await defaulted(set({ updateStrategy: { type: "OnDelete" } }));
  t.same((onDelete["spec"] as JsonObject)["updateStrategy"], { type: "OnDelete" });
});

t.test("what is refused at creation", async (t) => {
  const budget = "spec.updateStrategy.rollingUpdate.maxUnavailable";
  const cases: [object, RegExp][] = [
    [{ podManagementPolicy: "Any" }, /^spec.podManagementPolicy: .*must be 'OrderedReady' or 'Parallel'/],
    [{ updateStrategy: { type: "Any" } }, /^spec.updateStrategy: .*must be 'RollingUpdate' or 'OnDelete'/],
    [
      { updateStrategy: { type: "OnDelete", rollingUpdate: { partition: 1 } } },
      /^spec.updateStrategy.rollingUpdate: .*only allowed for updateStrategy 'RollingUpdate'/,
    ],
    [{ replicas: -1 }, /^spec.replicas: .*must be greater than or equal to 0/],
    [rolling({ minReadySeconds: 301 }), /must be no more than 300 seconds/],
    [rolling({ maxUnavailable: 0 }), new RegExp(`^${budget}: .*should not be less than 1`)],
    [rolling({ maxUnavailable: "0%" }), /should not be less than 1/],
    [rolling({ maxUnavailable: "5" }), /percentage/],
    [
      { updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "20%" } } },
      /can only work with Parallel PodManagementPolicyType/,
    ],
    [
      { scaleStrategy: { maxUnavailable: 2 } },
      /^spec.scaleStrategy.maxUnavailable: .*can only work with Parallel PodManagementPolicyType/,
    ],
    [
      rolling({ podUpdatePolicy: "InPlaceOnly" }),
      /^spec.template.spec.readinessGates: .*must contains InPlaceUpdateReady when podUpdatePolicy is InPlaceOnly/,
    ],
    [
      { persistentVolumeClaimRetentionPolicy: { whenScaled: "Keep" } },
      /^spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Keep"/,
    ],
    [{ selector: {} }, /empty selector is invalid for statefulset/],
    [{ selector: { matchLabels: { app: "other" } } }, /^spec.template.metadata.labels: /],
    [
      rolling({ unorderedUpdate: { priorityStrategy: { orderPriority: [{ orderedKey: "" }] } } }),
      /order key can not be empty/,
    ],
    [
      rolling({ unorderedUpdate: {} }, { podManagementPolicy: "OrderedReady" }),
      /^spec.updateStrategy.rollingUpdate.unorderedUpdate: .*unorderedUpdate can only work with Parallel/,
    ],
    [{ reserveOrdinals: [-1] }, /^spec: Invalid value: -1: 0 th reserve ordinal is negative: -1/],
  ];
  for (const [spec, expected] of cases) t.match(await words(spec), expected, JSON.stringify(spec));
  t.equal(await words(rolling({ maxUnavailable: "40%" })), "");
  const name = await answer({ ...set(), metadata: { name: "a.b" } });
  t.match(name, { allowed: false, code: 422, message: /^metadata.name: / });
});

t.test("what is refused in a change", async (t) => {
  t.match(
    await words({ serviceName: "b" }, { serviceName: "a" }),
    /^spec: Forbidden: updates to statefulset/,
  );
  t.equal(await words({ replicas: 5, scaleStrategy: { maxUnavailable: 1 } }, {}), "");
  const gates = [{ conditionType: "InPlaceUpdateReady" }];
  const template = (container: object) => ({
    metadata: { labels: { app: "web" } },
    spec: { readinessGates: gates, containers: [{ name: "nginx", image: "nginx:1.20", ...container }] },
  });
  const inPlaceOnly = (container: object) =>
    rolling({ podUpdatePolicy: "InPlaceOnly" }, { template: template(container) });
  t.equal(await words(inPlaceOnly({ image: "nginx:1.21" }), inPlaceOnly({})), "");
  t.match(
    await words(inPlaceOnly({ imagePullPolicy: "Never" }), inPlaceOnly({})),
    /invalid template modified with InPlaceOnly strategy: replace .*, currently only image update is allowed for InPlaceOnly/,
  );
});

t.test("claim templates that grow with their set", async (t) => {
  const claims = (storageClassName: string, storage: string, name = "data") => ({
    volumeClaimUpdateStrategy: { type: "OnPodRollingUpdate" },
    volumeClaimTemplates: [
      { metadata: { name }, spec: { storageClassName, resources: { requests: { storage } } } },
    ],
  });
  t.equal(await words(claims("wide", "2Gi"), claims("wide", "1Gi")), "");
  t.match(
    await words(claims("fixed", "2Gi"), claims("fixed", "1Gi")),
    /requests.storage: Forbidden: storage class fixed does not support volume expansion/,
  );
  t.match(await words(claims("none", "2Gi"), claims("none", "1Gi")), /can not get sc/);
  t.match(
    await words(claims("wide", "1Gi", "b"), claims("wide", "1Gi")),
    /^spec.volumeClaimTemplates\[0\].name/,
  );
  t.match(await words(claims("fixed", "1Gi"), claims("wide", "1Gi")), /^spec.volumeClaimTemplates\[0\]: /);
});

t.test("protected sets are not deleted", async (t) => {
  const labelled = (policy: string, replicas: number): JsonObject => ({
    ...set({ replicas }),
    metadata: { name: "web", labels: { "policy.kruise.io/delete-protection": policy } },
  });
  const remove = (old: JsonObject) => validate(request(undefined, old));
  t.match(await remove(labelled("Always", 0)), { allowed: false, code: 403 });
  t.match(await remove(labelled("Cascading", 2)), {
    message:
      "forbidden by ResourcesProtectionDeletion for policy.kruise.io/delete-protection=Cascading and replicas 2>0",
  });
  t.match(await remove(labelled("Cascading", 0)), { allowed: true });
});

t.test("mistakes of type are reported, not thrown", async (t) => {
  const response = await validate(request(set({ replicas: "three" })));
  t.match(response, { allowed: false, code: 400, message: /spec.replicas/ });
});

t.test("numbers below zero are refused, those that were stored elsewhere may stay", async (t) => {
  for (const spec of [
    { revisionHistoryLimit: -1 },
    { ordinals: { start: -1 } },
    { updateStrategy: { rollingUpdate: { inPlaceUpdateStrategy: { gracePeriodSeconds: -1 } } } },
  ]) {
    t.match(await answer(set(spec)), { allowed: false, message: /must be greater than or equal to 0/ });
    t.match(await answer(set({ ...spec, replicas: 2 }), set(spec)), { allowed: true });
  }
});
