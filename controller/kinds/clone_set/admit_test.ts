import t from "tap";
import { applyJsonPatch, type JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { handlerOf } from "../../../testkit/controller/kind_admission.ts";
import { withFaults } from "../../../testkit/kube/fake_faults.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import type { AdmissionRequest } from "../../runtime/admission/request.ts";
import { parseFeatureGates } from "../../runtime/feature_gates.ts";
import { controllerOptions } from "../../runtime/options.ts";
import { cloneSetWebhooks } from "./admit.ts";

type Deps = ReturnType<typeof depsWith>;
const mutateCloneSet = (options: Deps["options"]) => handlerOf(cloneSetWebhooks, "mutating", { options });
const validateCloneSetRequest = (deps: Deps) => handlerOf(cloneSetWebhooks, "validating", deps);

function depsWith(gates: string, { client } = fakeServer()) {
  return { client, allowPrivileged: true, options: controllerOptions({ gates: parseFeatureGates(gates) }) };
}

const deps = depsWith("ResourcesDeletionProtection=false");
const { options } = deps;

function cloneSet(spec: JsonObject = {}, changes: JsonObject = {}): JsonObject {
  const template = {
    metadata: { labels: { app: "a" } },
    spec: { containers: [{ name: "main", image: "nginx:1" }] },
  };
  return {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "CloneSet",
    metadata: { name: "sample", uid: "1" },
    spec: { selector: { matchLabels: { app: "a" } }, template, ...spec },
    ...changes,
  };
}

function request(object: JsonObject | undefined, changes: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return admissionRequest({ operation: "CREATE", object, ...changes });
}

async function defaulted(object: JsonObject): Promise<JsonObject> {
  const answer = await mutateCloneSet(options)(request(object));
  return answer.allowed && answer.patch ? applyJsonPatch(object, [...answer.patch]) : object;
}

t.test("the patch brings the defaults, and none is needed the second time", async (t) => {
  const object = await defaulted(cloneSet());
  t.match(object, { spec: { replicas: 1, updateStrategy: { type: "ReCreate", maxUnavailable: "20%" } } });
  t.strictSame(await mutateCloneSet(options)(request(object)), { allowed: true });
  t.strictSame(await validateCloneSetRequest(deps)(request(object)), { allowed: true });
});

t.test("a template that an update does not change is not touched", async (t) => {
  const oldObject = cloneSet();
  const answer = await mutateCloneSet(options)(
    request(cloneSet({ replicas: 3 }), { operation: "UPDATE", oldObject }),
  );
  t.ok(answer.allowed && answer.patch?.every((operation) => !operation.path.startsWith("/spec/template")));
});

t.test("mistakes of type are 400, other versions too", async (t) => {
  for (const handler of [mutateCloneSet(options), validateCloneSetRequest(deps)]) {
    t.match(await handler(request(cloneSet({ replicas: "three" }))), {
      allowed: false,
      code: 400,
      message: /^spec\.replicas: /,
    });
    t.match(await handler(request(cloneSet({ template: { spec: { containers: {} } } }))), {
      allowed: false,
      code: 400,
      message: /spec\.template\.spec\.containers/,
    });
    t.match(await handler(request(cloneSet({}, { apiVersion: "apps.kruise.io/v2" }))), {
      allowed: false,
      code: 400,
      message: "unsupported version: v2",
    });
    t.match(await handler(request(undefined)), { allowed: false, code: 400 });
  }
});

t.test("a malformed stored object can be put right", async (t) => {
  const oldObject = cloneSet({ replicas: "three" });
  const update = request(await defaulted(cloneSet()), { operation: "UPDATE", oldObject });
  t.strictSame(await validateCloneSetRequest(deps)(update), { allowed: true });
});

t.test("errors of fields are 422, all of them", async (t) => {
  const answer = await validateCloneSetRequest(deps)(
    request(await defaulted(cloneSet({ replicas: -1, selector: {} }))),
  );
  t.match(answer, { allowed: false, code: 422, message: /^\[spec\.replicas: .*, spec\.selector: .*\]$/ });
});

t.test("named pods are looked up; a lookup that fails refuses", async (t) => {
  const object = await defaulted(cloneSet({ scaleStrategy: { podsToDelete: ["x"] } }));
  t.match(await validateCloneSetRequest(deps)(request(object)), {
    code: 422,
    message: /find pod x failed: Pod "x" not found/,
  });
  const owner = { apiVersion: "apps.kruise.io/v1alpha1", kind: "CloneSet", name: "sample", uid: "1" };
  const [owned, lonely] = [fakeServer(), fakeServer()];
  const pod = (metadata: JsonObject) => ({ metadata: { name: "x", namespace: "default", ...metadata } });
  owned.put("pods", pod({ ownerReferences: [{ ...owner, controller: true }] }));
  t.strictSame(await validateCloneSetRequest(depsWith("", owned))(request(object)), { allowed: true });
  t.strictSame(owned.calls, ["get pods default/x"]);
  lonely.put("pods", pod({}));
  t.match(await validateCloneSetRequest(depsWith("", lonely))(request(object)), {
    code: 422,
    message: /find pod x owner is not this CloneSet/,
  });
  const before = () => Promise.reject(new Error("no connection"));
  const client = withFaults(owned.client, { get: () => ({ before }) });
  const failing = validateCloneSetRequest({ ...deps, client });
  t.match(await failing(request(object)), { code: 422, message: /find pod x failed: no connection/ });
});

t.test("deletion protection", async (t) => {
  const protectedBy = (policy: string, replicas: number) =>
    request(undefined, {
      operation: "DELETE",
      oldObject: cloneSet(
        { replicas },
        { metadata: { name: "sample", labels: { "policy.kruise.io/delete-protection": policy } } },
      ),
    });
  const on = validateCloneSetRequest(depsWith("ResourcesDeletionProtection=true"));
  const off = validateCloneSetRequest(deps);
  const words = "forbidden by ResourcesProtectionDeletion for policy.kruise.io/delete-protection=";
  t.strictSame(await off(protectedBy("Always", 1)), { allowed: true });
  t.strictSame(await on(protectedBy("Always", 0)), { allowed: false, code: 403, message: `${words}Always` });
  t.strictSame(await on(protectedBy("Cascading", 1)), {
    allowed: false,
    code: 403,
    message: `${words}Cascading and replicas 1>0`,
  });
  t.strictSame(await on(protectedBy("Cascading", 0)), { allowed: true });
  t.strictSame(await on(protectedBy("", 3)), { allowed: true });
});

t.test(
  "a template without its defaults is whole: with gate TemplateNoDefaults, and where it was stored so",
  async (t) => {
    const plain = depsWith("TemplateNoDefaults=true");
    const object = await defaulted(cloneSet());
    Object(object["spec"]).template = Object(cloneSet()["spec"]).template;
    const answer = await mutateCloneSet(plain.options)(request(cloneSet()));
    const patched = answer.allowed && answer.patch ? applyJsonPatch(cloneSet(), [...answer.patch]) : {};
    t.strictSame(Object(patched["spec"]).template, Object(cloneSet()["spec"]).template);
    t.strictSame(await validateCloneSetRequest(plain)(request(patched)), { allowed: true });
    const update = { operation: "UPDATE" as const, oldObject: object };
    t.strictSame(await validateCloneSetRequest(deps)(request(object, update)), { allowed: true });
  },
);
