import t from "tap";
import { applyJsonPatch, type JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import type { AdmissionRequest } from "../../runtime/admission/request.ts";
import { type CloneSetAdmissionOptions, mutateCloneSet, validateCloneSetRequest } from "./admit.ts";

const options: CloneSetAdmissionOptions = {
  templateDefaults: true,
  hostNetworkPorts: false,
  deletionProtection: false,
  allowPrivileged: true,
  lookupPod: async () => undefined,
};

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
  t.strictSame(await validateCloneSetRequest(options)(request(object)), { allowed: true });
});

t.test("a template that an update does not change is not touched", async (t) => {
  const oldObject = cloneSet();
  const answer = await mutateCloneSet(options)(
    request(cloneSet({ replicas: 3 }), { operation: "UPDATE", oldObject }),
  );
  t.ok(answer.allowed && answer.patch?.every((operation) => !operation.path.startsWith("/spec/template")));
});

t.test("mistakes of type are 400, other versions too", async (t) => {
  for (const handler of [mutateCloneSet(options), validateCloneSetRequest(options)]) {
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
  t.strictSame(await validateCloneSetRequest(options)(update), { allowed: true });
});

t.test("errors of fields are 422, all of them", async (t) => {
  const answer = await validateCloneSetRequest(options)(
    request(await defaulted(cloneSet({ replicas: -1, selector: {} }))),
  );
  t.match(answer, { allowed: false, code: 422, message: /^\[spec\.replicas: .*, spec\.selector: .*\]$/ });
});

t.test("named pods are looked up; a lookup that fails refuses", async (t) => {
  const object = await defaulted(cloneSet({ scaleStrategy: { podsToDelete: ["x"] } }));
  t.match(await validateCloneSetRequest(options)(request(object)), {
    code: 422,
    message: /find pod x failed: Pod "x" not found/,
  });
  const asked: string[] = [];
  const lookupPod = async (namespace: string, name: string) => {
    asked.push(`${namespace}/${name}`);
    return { ownerUid: "1", terminating: false };
  };
  t.strictSame(await validateCloneSetRequest({ ...options, lookupPod })(request(object)), { allowed: true });
  t.strictSame(asked, ["default/x"]);
  const lonely = async () => ({ ownerUid: undefined, terminating: false });
  t.match(await validateCloneSetRequest({ ...options, lookupPod: lonely })(request(object)), {
    code: 422,
    message: /find pod x owner is not this CloneSet/,
  });
  const failing = validateCloneSetRequest({
    ...options,
    lookupPod: () => Promise.reject(new Error("no connection")),
  });
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
  const on = validateCloneSetRequest({ ...options, deletionProtection: true });
  const off = validateCloneSetRequest(options);
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
    const plain = { ...options, templateDefaults: false };
    const object = await defaulted(cloneSet());
    Object(object["spec"]).template = Object(cloneSet()["spec"]).template;
    const answer = await mutateCloneSet(plain)(request(cloneSet()));
    const patched = answer.allowed && answer.patch ? applyJsonPatch(cloneSet(), [...answer.patch]) : {};
    t.strictSame(Object(patched["spec"]).template, Object(cloneSet()["spec"]).template);
    t.strictSame(await validateCloneSetRequest(plain)(request(patched)), { allowed: true });
    const update = { operation: "UPDATE" as const, oldObject: object };
    t.strictSame(await validateCloneSetRequest(options)(request(object, update)), { allowed: true });
  },
);
