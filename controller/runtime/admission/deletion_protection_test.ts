import t from "tap";
import type { JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import {
  type CustomKind,
  protectAlways,
  protectDefinition,
  protectNamespace,
  protectReplicas,
  reportingRefusals,
} from "./deletion_protection.ts";
import { deletionRefusal } from "./refusals.ts";
import type { AdmissionHandler, AdmissionRequest } from "./request.ts";

const label = "policy.kruise.io/delete-protection";
const words = "forbidden by ResourcesProtectionDeletion for";

function request(
  oldObject: JsonObject | undefined,
  changes: Partial<AdmissionRequest> = {},
): AdmissionRequest {
  return admissionRequest({ operation: "DELETE", name: "web", oldObject, ...changes });
}

function labelled(policy: string, more: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return { metadata: { name: "web", labels: { [label]: policy }, ...metadata }, ...more };
}

async function ask(handler: AdmissionHandler, asked: AdmissionRequest): Promise<string> {
  const answer = await handler(asked);
  return answer.allowed ? "allowed" : `${answer.code} ${answer.message}`;
}

const content = { activePods: async () => 0, boundClaims: async () => 0, objects: async () => 0 };

t.test("Always holds for every kind, whatever is below the object", async (t) => {
  const handlers = [
    protectReplicas,
    protectAlways,
    protectNamespace(content),
    protectDefinition(content, { cascading: false }),
  ];
  for (const handler of handlers) {
    t.equal(await ask(handler, request(labelled("Always"))), `403 ${words} ${label}=Always`);
    t.equal(
      await ask(handler, request(labelled("Always"), { dryRun: true })),
      `403 ${words} ${label}=Always`,
    );
    for (const policy of ["always", "", "Never"])
      t.equal(await ask(handler, request(labelled(policy))), "allowed");
    t.equal(await ask(handler, request({ metadata: {} })), "allowed");
    t.equal(await ask(handler, request(undefined)), "allowed", "an old API server");
    t.equal(await ask(handler, request(labelled("Always"), { subresource: "scale" })), "allowed");
    const going = labelled("Always", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" });
    t.equal(await ask(handler, request(going)), "allowed", "deleted already");
    t.equal(await ask(handler, request(labelled("Always"), { operation: "UPDATE" })), "allowed");
  }
});

t.test("Cascading: workloads while they are to have replicas", async (t) => {
  const cascading = (spec: JsonObject) => ask(protectReplicas, request(labelled("Cascading", { spec })));
  t.equal(await cascading({ replicas: 2 }), `403 ${words} ${label}=Cascading and replicas 2>0`);
  t.equal(await cascading({ replicas: 0 }), "allowed");
  t.equal(await cascading({}), "allowed");
  t.equal(await ask(protectAlways, request(labelled("Cascading", { spec: { replicas: 1 } }))), "allowed");
});

t.test("Cascading: namespaces while pods are active or claims bound", async (t) => {
  const cascading = (changes: Partial<typeof content>) =>
    ask(protectNamespace({ ...content, ...changes }), request(labelled("Cascading")));
  t.equal(await cascading({}), "allowed");
  t.equal(
    await cascading({ activePods: async () => 2, boundClaims: async () => 1 }),
    `403 ${words} ${label}=Cascading and active pods 2>0`,
  );
  t.equal(
    await cascading({ boundClaims: async () => 1 }),
    `403 ${words} ${label}=Cascading and "Bound" status pvc 1>0`,
  );
  t.equal(
    await cascading({ activePods: () => Promise.reject(new Error("down")) }),
    `403 ${words} list pods error: down`,
  );
  t.equal(
    await cascading({ boundClaims: () => Promise.reject(new Error("down")) }),
    `403 ${words} list pvc error: down`,
  );
});

t.test("Cascading: definitions while objects of theirs exist", async (t) => {
  const asked: CustomKind[] = [];
  const definition = labelled("Cascading", {
    spec: {
      group: "case.example",
      scope: "Namespaced",
      names: { plural: "toys", kind: "Toy" },
      versions: [{ name: "v1" }, { name: "v2", storage: true }],
    },
  });
  const objects = async (kind: CustomKind) => {
    asked.push(kind);
    return 1;
  };
  const on = { cascading: true };
  t.equal(
    await ask(protectDefinition({ objects }, on), request(definition)),
    `403 ${words} ${label}=Cascading and active CRs 1>0`,
  );
  t.same(asked, [{ group: "case.example", version: "v2", plural: "toys", kind: "Toy", namespaced: true }]);
  t.equal(await ask(protectDefinition(content, on), request(definition)), "allowed");
  t.equal(
    await ask(protectDefinition(content, { cascading: false }), request(definition)),
    "403 feature-gate DeletionProtectionForCRDCascadingGate is not enabled",
  );
  const failing = { objects: () => Promise.reject(new Error("down")) };
  t.equal(
    await ask(protectDefinition(failing, on), request(definition)),
    "403 failed to list CRs of case.example/v2, Kind=Toy: down",
  );
});

t.test("refused deletions are reported, with who asked", async (t) => {
  const reported: AdmissionRequest[] = [];
  const reporting = reportingRefusals(protectAlways, (refused) => reported.push(refused));
  await reporting(request(labelled("Always")));
  await reporting(request(labelled("Cascading")));
  t.equal(reported.length, 1);
  t.same(
    reported.map((refused) => deletionRefusal("Deployment", refused)),
    [
      {
        event: "DeletionProtection",
        kind: "Deployment",
        namespace: "default",
        name: "web",
        userName: "someone",
      },
    ],
  );
  t.match(deletionRefusal("Namespace", request(undefined)), { namespace: "", name: "web" });
});
