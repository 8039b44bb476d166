import t from "tap";
import type { PersistentPodState } from "../../../crds/index.ts";
import type { JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { handlerOf } from "../../../testkit/controller/kind_admission.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import { persistentPodStateWebhooks } from "./admit.ts";

const targetRef = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" };

function alpha(spec: JsonObject = {}, name = "state"): JsonObject {
  return {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "PersistentPodState",
    metadata: { name, namespace: "default" },
    spec: { targetRef, requiredPersistentTopology: { nodeTopologyKeys: ["zone"] }, ...spec },
  };
}

function beta(spec: JsonObject = {}): JsonObject {
  return {
    ...alpha({ requiredPersistentTopology: { keys: ["zone"] }, ...spec }),
    apiVersion: "apps.kruise.io/v1beta1",
  };
}

async function admit(
  object: JsonObject,
  oldObject?: JsonObject,
  others: PersistentPodState[] = [],
): Promise<string> {
  const server = fakeServer();
  for (const { metadata, ...rest } of others) {
    const stored = { ...rest, metadata: { ...metadata, namespace: "default" } };
    server.put("persistentpodstates.apps.kruise.io", stored);
  }
  const handler = handlerOf(persistentPodStateWebhooks, "validating", { client: server.client });
  const answer = await handler(admissionRequest({ object, oldObject }));
  return answer.allowed ? "allowed" : `${answer.code} ${answer.message}`;
}

const target = (reference: object): string => JSON.stringify(reference);

t.test("both versions and both kinds of StatefulSet are accepted", async (t) => {
  t.equal(await admit(alpha()), "allowed");
  t.equal(await admit(beta()), "allowed");
  t.equal(
    await admit(beta({ targetRef: { ...targetRef, apiVersion: "apps.kruise.io/v1alpha1" } })),
    "allowed",
  );
});

t.test("an incomplete target", async (t) => {
  const empty = { apiVersion: "apps/v1", kind: "StatefulSet", name: "" };
  t.equal(
    await admit(beta({ targetRef: empty })),
    `400 spec.targetRef: Invalid value: ${target(empty)}: empty targetRef is not valid for PersistentPodState.`,
  );
});

t.test("another kind of target", async (t) => {
  const deployment = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
  const words = "targetRef.Kind must be StatefulSet or in PPS_Watch_Custom_Workload_WhiteList";
  t.equal(
    await admit(alpha({ targetRef: deployment })),
    `400 spec.targetRef: Invalid value: ${target(deployment)}: ${words}`,
  );
});

t.test("no topology", async (t) => {
  const message = await admit({ ...beta(), spec: { targetRef, preferredPersistentTopology: [] } });
  t.match(
    message,
    /^400 spec: Invalid value: .*TopologyConstraint and TopologyPreference cannot be empty at the same time$/,
  );
});

t.test("the target is immutable, in the letter", async (t) => {
  const moved = beta({ targetRef: { ...targetRef, apiVersion: "apps/v1beta1" } });
  t.equal(await admit(moved, beta()), "400 spec.targetRef: Forbidden: targetRef is immutable");
  t.equal(await admit(alpha({ persistentPodAnnotations: [{ key: "a" }] }), beta()), "allowed");
});

t.test("one object a target", async (t) => {
  const taken = { apiVersion: "apps/v1beta2", kind: "StatefulSet", name: "web" };
  const other: PersistentPodState = { metadata: { name: "another" }, spec: { targetRef: taken } };
  t.equal(
    await admit(beta(), undefined, [other]),
    `400 spec.targetRef: Invalid value: ${target(targetRef)}: targetRef is in conflict with other PersistentPodState another`,
  );
  t.equal(await admit(beta(), beta(), [{ ...other, metadata: { name: "state" } }]), "allowed", "itself");
});

t.test("several errors are listed", async (t) => {
  const message = await admit({ ...beta(), spec: { targetRef: { apiVersion: "", kind: "", name: "" } } });
  t.match(message, /^400 \[spec\.targetRef: .*, spec\.targetRef: .*, spec: .*\]$/);
});

t.test("what cannot be decoded", async (t) => {
  t.match(await admit(beta({ targetRef: 5 })), /^400 .*spec\.targetRef/);
  t.equal(await admit({ ...beta(), apiVersion: "apps.kruise.io/v2" }), "400 unsupported version: v2");
});
