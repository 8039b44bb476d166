import t from "tap";
import type { JsonObject } from "../../../kube/core/index.ts";
import { KubeError, type KubeErrorCode } from "../../../kube/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import { parseFeatureGates } from "../../runtime/feature_gates.ts";
import { controllerOptions } from "../../runtime/options.ts";
import { validateResourceDistribution } from "./admit.ts";

const settings = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "settings", namespace: "elsewhere" },
};

function distribution(resource: object = settings, targets: object = { allNamespaces: true }): JsonObject {
  return {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "ResourceDistribution",
    metadata: { name: "d" },
    spec: { resource, targets },
  };
}

/** Answers, and what was tried out. */
function scene(refusal?: KubeErrorCode, gates = "ResourceDistributionGate=true") {
  const tried: object[] = [];
  const server = fakeServer();
  const handler = validateResourceDistribution({
    options: controllerOptions({ gates: parseFeatureGates(gates) }),
    settings: { namespace: "kruise-system" },
    writesFor: (owner) => ({
      ...server.client,
      create: async (resource, namespace, body, options) => {
        tried.push({ owner, plural: resource.plural, namespace, body, ...options });
        if (refusal !== undefined) throw new KubeError(refusal, "asked: no", { said: "no" });
        return server.client.create(resource, namespace, body, options);
      },
    }),
  });
  const ask = async (object: JsonObject, oldObject?: JsonObject): Promise<string> => {
    const answer = await handler(admissionRequest({ object, oldObject }));
    return answer.allowed ? "allowed" : `${answer.code} ${answer.message}`;
  };
  return { ask, tried };
}

t.test("the resource is tried out in the namespace of the program", async (t) => {
  const { ask, tried } = scene();
  t.equal(await ask(distribution()), "allowed");
  t.match(tried, [
    {
      owner: { namespace: "kruise-system" },
      plural: "configmaps",
      namespace: "kruise-system",
      dryRun: true,
      body: { metadata: { name: "settings", namespace: "kruise-system" } },
    },
  ]);
});

t.test("what the server says of it", async (t) => {
  const answers = {
    AlreadyExists: "allowed",
    Invalid: '422 spec.resource: Invalid value: "null": spec.resource is invalid: no',
    BadRequest: '422 spec.resource: Invalid value: "null": spec.resource is invalid: no',
    Forbidden: "422 spec.resource: Forbidden: spec.resource is forbidden: no",
    Timeout: "422 spec.resource: Internal error: failed to dry-run validate spec.resource: no",
  } as const;
  for (const code of ["AlreadyExists", "Invalid", "BadRequest", "Forbidden", "Timeout"] as const)
    t.equal(await scene(code).ask(distribution()), answers[code]);
  const secret = { ...settings, kind: "Secret", data: { key: "geheim!" } };
  t.equal(
    await scene("AlreadyExists").ask(distribution(secret)),
    '422 spec.resource: Invalid value: "null": spec.resource is invalid: data[key]: Invalid value: must be base64',
  );
});

t.test("nothing is tried out after another mistake; targets are looked at all the same", async (t) => {
  const { ask, tried } = scene();
  const both = {
    includedNamespaces: { list: [{ name: "a" }] },
    excludedNamespaces: { list: [{ name: "a" }] },
  };
  const service = { ...settings, kind: "Service" };
  t.match(
    await ask(distribution(service, both)),
    /^422 \[spec\.resource: .*only support.*, spec\.targets: .*\[a\] is in both/,
  );
  const renamed = { ...settings, metadata: { name: "renamed" } };
  t.match(await ask(distribution(renamed), distribution()), /^422 .* are immutable$/);
  t.same(tried, []);
});

t.test("refused without the gate, and what cannot be decoded", async (t) => {
  t.equal(
    await scene(undefined, "").ask(distribution()),
    "403 feature-gate ResourceDistributionGate is not enabled",
  );
  t.match(
    await scene().ask({ ...distribution(), spec: { resource: settings, targets: { allNamespaces: 1 } } }),
    /^400 /,
  );
  t.match(await scene().ask({ ...distribution(), spec: null }), /^4/);
});

t.test("targets that are stored so may stay, others may not come", async (t) => {
  const { ask } = scene();
  const included = (...names: string[]) =>
    distribution(settings, { includedNamespaces: { list: names.map((name) => ({ name })) } });
  const refused = /spec.targets.includedNamespaces: Invalid value: "Not_B"/;
  t.match(await ask(included("Not_B")), refused);
  t.equal(await ask(included("Not_A", "b"), included("Not_A")), "allowed");
  t.match(await ask(included("Not_A", "Not_B"), included("Not_A")), refused);
});
