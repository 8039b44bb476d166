import t from "tap";
import { customResourceDefinition, kinds } from "../../../crds/index.ts";
import type { JsonObject } from "../../../kube/core/index.ts";
import { nullLog } from "../../../kube/index.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import { admissionWebhooks as webhooks } from "../../start_admission.ts";
import {
  clusterTrust,
  definitions,
  mutatingConfigurations,
  validatingConfigurations,
} from "./cluster_trust.ts";
import {
  mutatingConfigurationName,
  pathOf,
  validatingConfigurationName,
  wantedConfiguration,
  webhookConfigurations,
} from "./webhook_configurations.ts";

const target = { namespace: "kruise-system", service: "kruise-webhook-service" };
const livePaths = new Set([
  "/mutate-pod",
  "/mutate-apps-kruise-io-cloneset",
  "/validate-apps-kruise-io-cloneset",
]);
const mutating = { name: mutatingConfigurationName };
const validating = { name: validatingConfigurationName };
const base64 = (text: string) => Buffer.from(text).toString("base64");

const leading = { leads: true };

function setup(changes: Partial<Parameters<typeof clusterTrust>[0]> = {}) {
  const server = fakeServer();
  const { client } = server;
  const conversions = kinds.filter((kind) => kind.conversion !== "None");
  return {
    server,
    client,
    trust: clusterTrust({
      client,
      target,
      webhooks,
      livePaths,
      kinds: conversions,
      log: nullLog,
      ...changes,
    }),
  };
}

t.test("the rendered configurations", async (t) => {
  const rendered = webhookConfigurations({ ...target, webhooks });
  t.match(rendered.mutating, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: "kruise-mutating-webhook-configuration", annotations: { template: "" } },
  });
  const common = {
    admissionReviewVersions: ["v1", "v1beta1"],
    failurePolicy: "Fail",
    sideEffects: "None",
    timeoutSeconds: 10,
  };
  const service = (path: string) => ({
    service: { namespace: "kruise-system", name: "kruise-webhook-service", path, port: 443 },
  });
  t.match(rendered.mutating.webhooks, [
    {
      ...common,
      name: "mpod.kb.io",
      clientConfig: service("/mutate-pod"),
      rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
      namespaceSelector: {
        matchExpressions: [
          { key: "control-plane", operator: "DoesNotExist" },
          { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kube-system", "kruise-system"] },
        ],
      },
    },
    { ...common, name: "mcloneset.kb.io", clientConfig: service("/mutate-apps-kruise-io-cloneset") },
  ]);
  t.match(rendered.validating.webhooks, [
    {
      ...common,
      name: "vpod.kb.io",
      rules: [{ operations: ["UPDATE", "DELETE"], resources: ["pods"] }],
      matchConditions: [{ name: "tied-to-a-budget" }],
    },
    {
      ...common,
      name: "vpodeviction.kb.io",
      matchConditions: undefined,
      rules: [{ operations: ["CREATE"], resources: ["pods/eviction"] }],
    },
    {
      ...common,
      name: "vcloneset.kb.io",
      rules: [
        {
          apiGroups: ["apps.kruise.io"],
          apiVersions: ["v1alpha1", "v1beta1"],
          operations: ["CREATE", "UPDATE", "DELETE"],
          resources: ["clonesets"],
        },
      ],
    },
  ]);
  const byUrl = webhookConfigurations({ ...target, webhooks, host: "::1", port: 1234 });
  t.match(byUrl.mutating.webhooks, [
    { clientConfig: { url: "https://[::1]:1234/mutate-pod", service: undefined } },
    {},
  ]);
});

t.test("configurations that are missing are created with our CA and template", async (t) => {
  const { server, client, trust } = setup();
  await trust.apply("CA", leading);
  const created = await client.get(mutatingConfigurations, mutating);
  t.match(created.webhooks, [
    { clientConfig: { caBundle: base64("CA") } },
    { clientConfig: { caBundle: base64("CA") } },
  ]);
  const template = JSON.parse(created.metadata.annotations?.["template"] ?? "");
  t.match(template, [{ name: "mpod.kb.io", timeoutSeconds: 10 }, { name: "mcloneset.kb.io" }]);
  t.notMatch(created.metadata.annotations?.["template"], "caBundle");
  const writes = server.writes.length;
  await trust.apply("CA", leading);
  t.equal(server.writes.length, writes, "a second pass writes nothing");
});

t.test("a change by hand is taken back, a change of the template is followed", async (t) => {
  const { client, trust } = setup();
  await trust.apply("CA", leading);
  const edit = async (timeoutSeconds: number) => {
    const { webhooks } = await client.get(mutatingConfigurations, mutating);
    await client.patch(mutatingConfigurations, mutating, {
      type: "merge",
      body: { webhooks: webhooks?.map((webhook) => ({ ...webhook, timeoutSeconds })) },
    });
  };
  await edit(3);
  await trust.apply("CA", leading);
  t.match((await client.get(mutatingConfigurations, mutating)).webhooks, [
    { timeoutSeconds: 10 },
    { timeoutSeconds: 10 },
  ]);
  const { metadata } = await client.get(mutatingConfigurations, mutating);
  const template = metadata.annotations?.["template"]?.replaceAll(
    '"timeoutSeconds":10',
    '"timeoutSeconds":7',
  );
  await client.patch(mutatingConfigurations, mutating, {
    type: "merge",
    body: { metadata: { annotations: { template } } },
  });
  await trust.apply("CA", leading);
  t.match((await client.get(mutatingConfigurations, mutating)).webhooks, [
    { timeoutSeconds: 7 },
    { timeoutSeconds: 7 },
  ]);
});

t.test(
  "an empty template takes in the live list; entries without a handler stay in it and vanish from the list",
  async (t) => {
    const { client, trust } = setup();
    const entry = (name: string, path: string): JsonObject => ({
      name,
      clientConfig: { service: { namespace: "x", name: "y", path } },
      rules: [],
    });
    const webhooks = [entry("unknown.kb.io", "/nobody"), entry("mpod.kb.io", "/mutate-pod")];
    await client.create(mutatingConfigurations, undefined, {
      metadata: { ...mutating, annotations: { template: "" } },
      webhooks,
    });
    await trust.apply("CA", leading);
    const live = await client.get(mutatingConfigurations, mutating);
    t.match(live.webhooks, [
      {
        name: "mpod.kb.io",
        clientConfig: { service: { namespace: "kruise-system", name: "kruise-webhook-service" } },
      },
    ]);
    t.equal(live.webhooks?.length, 1);
    t.match(JSON.parse(live.metadata.annotations?.["template"] ?? ""), [
      { name: "unknown.kb.io" },
      { name: "mpod.kb.io" },
    ]);
  },
);

t.test("configurations that this program created get entries that it learns later", async (t) => {
  const first = setup({ livePaths: new Set(["/mutate-pod"]) });
  await first.trust.apply("CA", leading);
  const created = await first.client.get(mutatingConfigurations, mutating);
  t.strictSame(created.webhooks?.map(pathOf), ["/mutate-pod"]);
  const ours = webhookConfigurations({ ...target, webhooks }).mutating;
  const wanted = wantedConfiguration(
    { ...created, metadata: { ...created.metadata, annotations: { template: "[]" } } },
    ours,
    livePaths,
    target,
    "x",
  );
  t.strictSame(wanted.webhooks.map(pathOf), ["/mutate-pod", "/mutate-apps-kruise-io-cloneset"]);
  const foreign = { ...created, metadata: { name: "n", annotations: { template: "[]" } } };
  t.strictSame(wantedConfiguration(foreign, ours, livePaths, target, "x").webhooks, []);
});

t.test("an unreadable template is replaced", async (t) => {
  const ours = webhookConfigurations({ ...target, webhooks }).mutating;
  for (const template of ["{", "7", "[1]"]) {
    const live = { ...ours, metadata: { ...ours.metadata, annotations: { template } } };
    const wanted = wantedConfiguration(live, ours, livePaths, target, "x");
    t.equal(wanted.webhooks.length, 2);
    t.match(JSON.parse(wanted.template), [{ name: "mpod.kb.io" }, { name: "mcloneset.kb.io" }]);
  }
});

t.test("defaults that the API server adds are no difference", async (t) => {
  const { server, client, trust } = setup();
  await trust.apply("CA", leading);
  const { webhooks = [] } = await client.get(validatingConfigurations, validating);
  const completed = webhooks.map((webhook) => ({
    ...webhook,
    matchPolicy: "Equivalent",
    namespaceSelector: {},
    objectSelector: {},
  }));
  await client.patch(validatingConfigurations, validating, { type: "merge", body: { webhooks: completed } });
  const writes = server.writes.length;
  await trust.apply("CA", leading);
  t.equal(server.writes.length, writes);
});

t.test(
  "definitions with strategy Webhook get our conversion, others and missing ones are left alone",
  async (t) => {
    const { server, client, trust } = setup();
    for (const kind of kinds.filter((kind) => ["CloneSet", "BroadcastJob"].includes(kind.kind))) {
      await client.create(
        definitions,
        undefined,
        customResourceDefinition(kind, { service: { namespace: "system", name: "placeholder" } }),
      );
    }
    await trust.apply("CA", leading);
    const { spec } = await client.get(definitions, { name: "clonesets.apps.kruise.io" });
    t.match(spec, {
      conversion: {
        strategy: "Webhook",
        webhook: {
          conversionReviewVersions: ["v1", "v1beta1"],
          clientConfig: {
            caBundle: base64("CA"),
            service: {
              namespace: "kruise-system",
              name: "kruise-webhook-service",
              path: "/convert",
              port: 443,
            },
          },
        },
      },
    });
    t.equal(
      Object((await client.get(definitions, { name: "broadcastjobs.apps.kruise.io" })).spec).conversion,
      undefined,
    );
    t.equal(server.writes.filter((write) => write.startsWith("patch customresourcedefinitions ")).length, 1);
    await setup().trust.apply("CA", leading);
    const byUrl = clusterTrust({
      client,
      target: { ...target, host: "h", port: 1 },
      webhooks,
      livePaths,
      kinds,
      log: nullLog,
    });
    await byUrl.apply("CA", leading);
    const config = Object((await client.get(definitions, { name: "clonesets.apps.kruise.io" })).spec)
      .conversion.webhook.clientConfig;
    t.strictSame(config, { caBundle: base64("CA"), url: "https://h:1/convert" });
  },
);

t.test("a write that lost a race is an error, not an overwrite", async (t) => {
  const { server, client, trust } = setup();
  await trust.apply("CA", leading);
  const racing = clusterTrust({
    client: {
      ...client,
      get: async (resource, ref) => {
        const read = await client.get(resource, ref);
        server.put(
          `${resource.plural}.${resource.group}`,
          server.read(`${resource.plural}.${resource.group}`, ref.name),
        );
        return read;
      },
    },
    target,
    webhooks,
    livePaths,
    kinds: [],
    log: nullLog,
  });
  await t.rejects(racing.apply("CA 2", leading), { code: "Conflict" });
});

t.test("external certificates are compared only", async (t) => {
  const { server, client, trust } = setup();
  await trust.apply("CA", leading);
  for (const kind of kinds.filter((kind) => kind.kind === "CloneSet")) {
    await client.create(definitions, undefined, customResourceDefinition(kind, { caBundle: base64("CA") }));
  }
  const writes = server.writes.length;
  await trust.check("CA");
  await t.rejects(trust.check("other"), {
    message:
      "caBundle of MutatingWebhookConfiguration kruise-mutating-webhook-configuration does not match the external caBundle",
  });
  const { webhooks } = await client.get(validatingConfigurations, validating);
  await client.patch(validatingConfigurations, validating, {
    type: "merge",
    body: { webhooks: webhooks?.map((webhook) => ({ ...webhook, clientConfig: { caBundle: "eA==" } })) },
  });
  await t.rejects(
    trust.check("CA"),
    /caBundle of ValidatingWebhookConfiguration kruise-validating-webhook-configuration does not match/,
  );
  t.equal(server.writes.length, writes + 1);
});

t.test("of two replicas at different addresses only the leader moves the pointers", async (t) => {
  const { server, client, trust } = setup({ target: { ...target, host: "a", port: 1 } });
  server.put("customresourcedefinitions.apiextensions.k8s.io", {
    metadata: { name: "clonesets.apps.kruise.io" },
    spec: { conversion: { strategy: "Webhook" } },
  });
  await trust.apply("CA a", { leads: false });
  const addresses = async (): Promise<unknown[]> => {
    const { webhooks = [] } = await client.get(mutatingConfigurations, mutating);
    const definition = Object((await client.get(definitions, { name: "clonesets.apps.kruise.io" })).spec);
    const configs = [
      ...webhooks.map(({ clientConfig }) => clientConfig),
      definition.conversion.webhook.clientConfig,
    ];
    return configs.map((config) => `${new URL(Object(config).url).host} ${Object(config).caBundle}`);
  };
  const at = (host: string, ca: string) => Array(3).fill(`${host} ${base64(ca)}`);
  t.same(await addresses(), at("a:1", "CA a"), "what is missing is written by whoever comes first");
  const conversions = kinds.filter((kind) => kind.conversion !== "None");
  const other = clusterTrust({
    client,
    target: { ...target, host: "b", port: 2 },
    webhooks,
    livePaths,
    kinds: conversions,
    log: nullLog,
  });
  const writes = server.writes.length;
  await other.apply("CA b", { leads: false });
  await trust.apply("CA a", { leads: false });
  await trust.apply("CA a", leading);
  t.equal(server.writes.length, writes, "nothing is written where nothing is missing and nobody new leads");
  await other.apply("CA b", leading);
  t.same(await addresses(), at("b:2", "CA b"));
  const settled = server.writes.length;
  await trust.apply("CA a", { leads: false });
  await other.apply("CA b", leading);
  t.equal(server.writes.length, settled);
});
