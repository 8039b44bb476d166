import { createServer } from "node:https";
import t from "tap";
import { systemClock } from "../kube/core/index.ts";
import { widget, widgetDefinition } from "../testkit/api_contract/custom_cases.ts";
import { configMapBody, podBody } from "../testkit/api_contract/objects.ts";
import { credentialsOf, openTarget } from "../testkit/api_contract/target.ts";
import { makeCertificates } from "./certificates.ts";
import { startSandbox } from "./index.ts";
import { type Fields, fieldsAt, objectsAt, setAt, textAt, valueAt } from "./json.ts";

/** A webhook behind the service `hook` of the namespace `default`. */
async function startHook(respond: (request: Fields, path: string) => Fields) {
  const certificates = await makeCertificates("hook.default.svc", Date.now());
  const server = createServer(
    { key: certificates.serverKey, cert: certificates.serverCert },
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const review: unknown = JSON.parse(Buffer.concat(chunks).toString());
        const asked = fieldsAt(review, "request");
        const answer = { uid: asked["uid"], ...respond(asked, request.url ?? "") };
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ ...fieldsAt(review), response: answer }));
      });
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `https://127.0.0.1:${port}`,
    clientConfig: (path: string) => ({
      caBundle: Buffer.from(certificates.caCert).toString("base64"),
      service: { namespace: "default", name: "hook", path },
    }),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function started(hookUrl: string) {
  const sandbox = await startSandbox({
    seed: 5,
    clock: systemClock,
    serviceUrls: { "default/hook": hookUrl },
  });
  const target = openTarget(credentialsOf(sandbox.kubeconfig));
  const stop = async () => {
    await target.close();
    await sandbox.stop();
  };
  return { sandbox, target, stop };
}

function configuration(kind: string, webhook: Fields): Fields {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: `${kind}WebhookConfiguration`,
    metadata: { name: "hooks" },
    webhooks: [
      { name: "hook.example.com", admissionReviewVersions: ["v1"], sideEffects: "None", ...webhook },
    ],
  };
}

const configurations = "/apis/admissionregistration.k8s.io/v1";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const pods = "/api/v1/namespaces/default/pods";
const maps = "/api/v1/namespaces/default/configmaps";

t.test("asks webhooks behind services about subresources", async (t) => {
  const seen: Fields[] = [];
  const hook = await startHook((request, path) => {
    seen.push({ ...request, path });
    return { allowed: false, status: { message: "stay" } };
  });
  const { target, stop } = await started(hook.url);
  const rules = [
    { apiGroups: [""], apiVersions: ["v1"], resources: ["pods/eviction"], operations: ["CREATE"] },
  ];
  const body = configuration("Validating", { clientConfig: hook.clientConfig("/ask"), rules });
  await target.call("POST", `${configurations}/validatingwebhookconfigurations`, { body });
  t.equal((await target.call("POST", pods, { body: podBody("p") })).code, 201);
  const refused = await target.call("POST", `${pods}/p/eviction`, { body: { metadata: { name: "p" } } });
  t.equal(refused.code, 400);
  t.match(refused.json["message"], 'admission webhook "hook.example.com" denied the request: stay');
  t.match(seen, [
    {
      path: "/ask?timeout=10s",
      kind: { group: "policy", version: "v1", kind: "Eviction" },
      resource: { group: "", version: "v1", resource: "pods" },
      subResource: "eviction",
      operation: "CREATE",
      object: { kind: "Eviction", metadata: { name: "p", namespace: "default" } },
    },
  ]);
  t.equal((await target.call("GET", `${pods}/p`)).code, 200);
  await stop();
  hook.close();
});

t.test("words time-outs and missing services as the server does", async (t) => {
  const hook = await startHook(() => ({ allowed: true }));
  const { sandbox, target, stop } = await started(hook.url);
  const rules = [{ apiGroups: ["*"], apiVersions: ["*"], resources: ["configmaps"], operations: ["*"] }];
  const body = configuration("Mutating", {
    clientConfig: hook.clientConfig("/m"),
    rules,
    timeoutSeconds: 3,
  });
  await target.call("POST", `${configurations}/mutatingwebhookconfigurations`, { body });
  sandbox.faults.add({
    verb: "webhook",
    resource: "hook.example.com",
    times: 1,
    effect: { type: "timeout" },
  });
  const late = await target.call("POST", maps, { body: configMapBody("a") });
  t.equal(late.code, 500);
  t.equal(
    late.json["message"],
    'Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: Post "https://hook.default.svc:443/m?timeout=3s": context deadline exceeded',
  );
  t.equal((await target.call("POST", maps, { body: configMapBody("a") })).code, 201);
  sandbox.serviceUrls.clear();
  const lost = await target.call("POST", maps, { body: configMapBody("b") });
  t.equal(
    lost.json["message"],
    'Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: service "hook" not found',
  );
  await stop();
  hook.close();
});

t.test(
  "asks a webhook twice for one request: its first answer is lost, or it is invoked again",
  async (t) => {
    let asked = 0;
    const marks: unknown[] = [];
    const hook = await startHook(({ object }) => {
      asked += 1;
      marks.push(valueAt(object, "data", "mark"));
      const patch = [{ op: "add", path: "/data", value: { mark: `${asked}` } }];
      return {
        allowed: true,
        patchType: "JSONPatch",
        patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
      };
    });
    const { sandbox, target, stop } = await started(hook.url);
    const rules = [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["*"] }];
    const body = configuration("Mutating", { clientConfig: hook.clientConfig("/m"), rules });
    await target.call("POST", `${configurations}/mutatingwebhookconfigurations`, { body });
    const markOf = async (name: string): Promise<string> =>
      textAt((await target.call("POST", maps, { body: configMapBody(name) })).json, "data", "mark");
    sandbox.faults.add({ verb: "webhook", times: 1, effect: { type: "retry", when: "after" } });
    t.equal(await markOf("again"), "2");
    sandbox.faults.add({ verb: "webhook", times: 1, effect: { type: "reinvoke" } });
    t.equal(await markOf("once-more"), "4");
    t.equal(marks[3], "3", "it is shown what it has made of it");
    sandbox.faults.add({ verb: "webhook", times: 1, effect: { type: "retry", when: "meanwhile" } });
    t.ok(await markOf("twice"));
    t.equal(asked, 6);
    await stop();
    hook.close();
  },
);

t.test("refuses what it would have to ignore", async (t) => {
  const hook = await startHook(() => ({ allowed: true }));
  const { target, stop } = await started(hook.url);
  const matchConditions = [{ name: "x", expression: 'authorizer.group("").check("get").allowed()' }];
  const body = configuration("Validating", {
    clientConfig: hook.clientConfig("/"),
    rules: [],
    matchConditions,
  });
  const refused = await target.call("POST", `${configurations}/validatingwebhookconfigurations`, { body });
  t.equal(refused.code, 422);
  t.match(refused.json["message"], "matchConditions[0].expression: Invalid value: ");
  t.match(
    refused.json["message"],
    "compilation failed: ERROR: <input>:1:1: the sandbox does not evaluate 'authorizer'",
  );
  const definition = widgetDefinition("example.com");
  const [version] = objectsAt(definition, "spec", "versions");
  setAt(version ?? {}, ["schema", "openAPIV3Schema", "x-kubernetes-validations"], [{ rule: "true" }]);
  const custom = await target.call("POST", definitions, { body: definition });
  t.equal(custom.code, 422);
  t.match(custom.json["message"], "Forbidden: the sandbox does not evaluate CEL rules");
  await stop();
  hook.close();
});

t.test("converts between versions by webhook, in reads, lists, writes and watches", async (t) => {
  let calls = 0;
  const hook = await startHook((request) => {
    calls += 1;
    const desired = textAt(request, "desiredAPIVersion");
    const convertedObjects = objectsAt(request, "objects").map((object) => {
      const older = desired.endsWith("v1beta1");
      const color = textAt(object, "spec", "color");
      const spec = {
        ...fieldsAt(object, "spec"),
        color: older ? "green" : color,
        name: older ? color : undefined,
      };
      return { ...object, apiVersion: desired, spec };
    });
    return { result: { status: "Success" }, convertedObjects };
  });
  const { target, stop } = await started(hook.url);
  const definition = widgetDefinition("example.com");
  setAt(definition, ["spec", "conversion"], {
    strategy: "Webhook",
    webhook: { clientConfig: hook.clientConfig("/convert"), conversionReviewVersions: ["v1"] },
  });
  t.equal((await target.call("POST", definitions, { body: definition })).code, 201);
  const base = "/apis/example.com/v1/namespaces/default/widgets";
  const older = base.replace("/v1/", "/v1beta1/");
  const stream = await target.watch(`${older}?watch=1`);
  t.equal(
    (await target.call("POST", base, { body: widget("example.com", "w", { color: "red" }) })).code,
    201,
  );
  const read = await target.call("GET", `${older}/w`);
  t.match(read.json, {
    apiVersion: "example.com/v1beta1",
    spec: { color: "green", name: "red", replicas: 1 },
  });
  const list = await target.call("GET", older);
  t.match(objectsAt(list.json, "items"), [{ apiVersion: "example.com/v1beta1", spec: { name: "red" } }]);
  t.match(await stream.next(), { type: "ADDED", object: { spec: { name: "red" } } });
  t.equal(calls, 1, "each version of an object is converted once");
  const written = await target.call("PATCH", `${older}/w`, {
    type: "application/merge-patch+json",
    body: { spec: { replicas: 4 } },
  });
  t.equal(valueAt(written.json, "spec", "replicas"), 4);
  t.match((await target.call("GET", `${base}/w`)).json, {
    apiVersion: "example.com/v1",
    spec: { replicas: 4 },
  });
  await stream.close();
  hook.close();
  const other = await target.call("POST", base, { body: widget("example.com", "z", { color: "red" }) });
  t.equal(other.code, 201);
  const failed = await target.call("GET", `${older}/z`);
  t.equal(failed.code, 500);
  t.match(
    failed.json["message"],
    /^conversion webhook for example.com\/v1, Kind=Widget failed: Post "https:\/\/hook.default.svc:443\/convert\?timeout=30s": /,
  );
  await stop();
});

t.test("asks webhooks about what the garbage collector and evictions delete", async (t) => {
  const seen: string[] = [];
  const hook = await startHook((request) => {
    seen.push(`${textAt(request, "userInfo", "username")} ${textAt(request, "name")}`);
    return { allowed: true };
  });
  const { target, stop } = await started(hook.url);
  const rules = [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["DELETE"] }];
  const body = configuration("Validating", { clientConfig: hook.clientConfig("/d"), rules });
  await target.call("POST", `${configurations}/validatingwebhookconfigurations`, { body });
  const owner = await target.call("POST", maps, { body: configMapBody("owner") });
  const uid = textAt(owner.json, "metadata", "uid");
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid }];
  await target.call("POST", pods, {
    body: podBody("owned", { metadata: { name: "owned", ownerReferences } }),
  });
  await target.call("POST", pods, { body: podBody("evicted") });
  const stream = await target.watch(`${pods}?watch=1`);
  t.match([await stream.next(), await stream.next()], [{ type: "ADDED" }, { type: "ADDED" }]);
  t.equal((await target.call("POST", `${pods}/evicted/eviction`, { body: {} })).code, 201);
  t.match(await stream.next(), { type: "DELETED", object: { metadata: { name: "evicted" } } });
  t.same(seen, []);
  await target.call("DELETE", `${maps}/owner`);
  t.match(await stream.next(), { type: "DELETED", object: { metadata: { name: "owned" } } });
  t.same(seen, ["system:serviceaccount:kube-system:generic-garbage-collector owned"]);
  await stream.close();
  await stop();
  hook.close();
});
