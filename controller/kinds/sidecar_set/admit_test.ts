/** Admission of SidecarSets: what it looks up, and that nothing stored stops it. Spec: sidecarset 6. */
import t from "tap";
import type { JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { handlerOf } from "../../../testkit/controller/kind_admission.ts";
import { type FakeServer, fakeServer, type StoredObject } from "../../../testkit/kube/fake_server.ts";
import { controllerOptions } from "../../runtime/options.ts";
import { sidecarSetWebhooks, validateSidecarSetRequest } from "./admit.ts";

const plural = "sidecarsets.apps.kruise.io";
const systemNamespace = "kruise-system";

function raw(name: string, spec: JsonObject = {}, version = "v1beta1"): StoredObject {
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "SidecarSet",
    metadata: { name },
    spec: {
      selector: { matchLabels: { app: "a" } },
      containers: [
        {
          name: "side",
          image: "busybox:1",
          podInjectPolicy: "BeforeAppContainer",
          shareVolumePolicy: { type: "disabled" },
        },
      ],
      updateStrategy: { type: "RollingUpdate" },
      ...spec,
    },
  };
}

async function admit(server: FakeServer, object: JsonObject, oldObject?: JsonObject): Promise<string> {
  const handler = validateSidecarSetRequest({
    client: server.client,
    allowPrivileged: true,
    options: controllerOptions({ systemNamespace }),
  });
  const answer = await handler(admissionRequest({ object, oldObject }));
  return answer.allowed ? "allowed" : `${answer.code} ${answer.message}`;
}

t.test("one request for a plain SidecarSet", async (t) => {
  const server = fakeServer();
  t.equal(await admit(server, raw("one")), "allowed");
  t.equal(await admit(server, raw("one", {}, "v1alpha1")), "allowed");
  t.strictSame(server.calls, ["list sidecarsets", "list sidecarsets"]);
});

t.test("both versions are checked as they are stored", async (t) => {
  const server = fakeServer();
  server.put(
    plural,
    raw("one", { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "x" } } }),
  );
  t.equal(await admit(server, raw("two", { namespace: "y" }, "v1alpha1")), "allowed", "another namespace");
  t.equal(
    await admit(server, raw("two", { namespace: "x" }, "v1alpha1")),
    '500 spec.containers: Invalid value: "side": container side already exist in one',
  );
});

t.test("several errors are one text", async (t) => {
  t.equal(
    await admit(fakeServer(), raw("one", { selector: {}, containers: [] })),
    "500 [spec.selector: Invalid value: {}: empty selector is not valid for sidecarset., " +
      "spec: Required value: no initContainer or container defined for SidecarSet]",
  );
});

t.test("broken SidecarSets that are stored stop nothing", async (t) => {
  const server = fakeServer();
  const broken: [string, JsonObject][] = [
    ["a", { containers: "x" }],
    ["b", { containers: [null] }],
    ["c", { selector: { matchLabels: { "?": "x" } } }],
    ["d", { volumes: [7], patchPodMetadata: {} }],
  ];
  for (const [name, spec] of broken) server.put(plural, raw(name, spec));
  server.put(plural, { metadata: { name: "e" }, spec: 1 });
  server.put(plural, { metadata: { name: "f" } });
  t.equal(await admit(server, raw("one")), "allowed");
  t.equal(await admit(server, raw("a"), raw("a", { containers: "x" })), "allowed", "and can be mended");
});

t.test("the whitelist is read for SidecarSets that write annotations", async (t) => {
  const server = fakeServer();
  const patching = raw("one", { patchPodMetadata: [{ annotations: { k: "1" }, patchPolicy: "Retain" }] });
  t.equal(
    await admit(server, patching),
    "500 spec.patchPodMetadata: Required value: SidecarSet patch metadata whitelist not found",
  );
  server.put("configmaps", {
    metadata: { name: "kruise-configuration", namespace: systemNamespace },
    data: { SidecarSet_PatchPodMetadata_WhiteList: '{"rules":[{"allowedAnnotationKeyExprs":["^k$"]}]}' },
  });
  t.equal(await admit(server, patching), "allowed");
});

t.test("the revision for new pods", async (t) => {
  const server = fakeServer();
  const pinned = (revision: JsonObject) => raw("one", { injectionStrategy: { revision } });
  const refused = (name: string) =>
    `500 revision: Invalid value: null: Cannot find specific ControllerRevision, err: ControllerRevision.apps "${name}" not found`;
  t.equal(await admit(server, pinned({ revisionName: "one-1" })), refused("one-1"));
  t.equal(await admit(server, pinned({ customVersion: "3" })), refused("one"));
  t.match(await admit(server, pinned({ customVersion: "a b" })), "Cannot find specific ControllerRevision");
  server.put("controllerrevisions.apps", {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {
      name: "one-1",
      namespace: systemNamespace,
      labels: { "kruise.io/sidecarset-name": "one", "apps.kruise.io/sidecarset-custom-version": "3" },
    },
    revision: 1,
  });
  t.equal(await admit(server, pinned({ revisionName: "one-1" })), "allowed");
  t.equal(await admit(server, pinned({ customVersion: "3" })), "allowed");
  t.equal(await admit(server, pinned({ customVersion: "4" })), refused("one"));
  const gone = pinned({ customVersion: "4" });
  t.equal(await admit(server, gone, gone), "allowed", "what is stored may stay");
  t.equal(
    await admit(server, gone, pinned({ customVersion: "3" })),
    refused("one"),
    "another one may not come",
  );
  t.equal(await admit(server, pinned({ customVersion: "5" }), gone), refused("one"), "nor one as bad");
});

t.test("a creation is filled in and hashed", async (t) => {
  const answer = await handlerOf(sidecarSetWebhooks, "mutating")(admissionRequest({ object: raw("one") }));
  t.ok(answer.allowed);
  const patch = answer.allowed ? (answer.patch ?? []) : [];
  t.ok(patch.some(({ path }) => path === "/metadata/annotations"));
  t.ok(patch.some(({ path }) => path === "/spec/updateStrategy/maxUnavailable"));
});

t.test("types that are wrong are refused before anything is looked at", async (t) => {
  const server = fakeServer();
  t.match(await admit(server, raw("one", { containers: [{ name: 1 }] })), /^400 spec\.containers\[0\]\.name/);
  const mutated = await handlerOf(
    sidecarSetWebhooks,
    "mutating",
  )(admissionRequest({ object: raw("one", { volumes: {} }) }));
  t.match(mutated, { allowed: false, code: 400 });
  t.strictSame(server.calls, []);
});
