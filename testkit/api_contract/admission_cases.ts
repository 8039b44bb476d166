/** Webhooks: what they are sent, what their answers do. */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:https";
import { makeCertificates } from "../../sandbox/certificates.ts";
import { type Fields, fieldsAt, isFields, textAt, valueAt } from "../../sandbox/json.ts";
import type { Contract, ContractCase } from "./case.ts";
import { configMapBody } from "./objects.ts";

type Respond = (request: Fields) => Fields;

export interface Hook {
  readonly url: string;
  readonly caBundle: string;
  readonly seen: Fields[];
  /** The path of each request. */
  readonly paths: string[];
  close(): Promise<void>;
}

export async function startHook(respond: Respond): Promise<Hook> {
  const certificates = await makeCertificates("127.0.0.1", Date.now());
  const seen: Fields[] = [];
  const paths: string[] = [];
  const server: Server = createServer(
    { key: certificates.serverKey, cert: certificates.serverCert },
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const review: unknown = JSON.parse(Buffer.concat(chunks).toString());
        const asked = fieldsAt(review, "request");
        seen.push(asked);
        paths.push(new URL(request.url ?? "/", "https://hook").pathname);
        const answer = { uid: asked["uid"], ...respond(asked) };
        response.setHeader("content-type", "application/json");
        response.end(
          JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: answer }),
        );
      });
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `https://127.0.0.1:${port}/hook`,
    caBundle: Buffer.from(certificates.caCert).toString("base64"),
    seen,
    paths,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type HookKind = "Mutating" | "Validating";

function configuration(kind: HookKind, { namespace }: Contract, hook: Hook, changes: Fields): Fields {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: `${kind}WebhookConfiguration`,
    metadata: { name: namespace },
    webhooks: [
      {
        name: "hook.example.com",
        clientConfig: { url: hook.url, caBundle: hook.caBundle },
        rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["*"] }],
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        ...changes,
      },
    ],
  };
}

/** A real server takes a moment to see a new configuration: `probe` is repeated until the hook was asked. */
async function withHook(
  contract: Contract,
  kind: HookKind,
  respond: Respond,
  run: (hook: Hook) => Promise<void>,
  changes: Fields = {},
): Promise<void> {
  const hook = await startHook(respond);
  const base = `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}webhookconfigurations`;
  await contract.expect(201, "POST", base, { body: configuration(kind, contract, hook, changes) });
  try {
    for (let attempt = 0; hook.seen.length === 0 && attempt < 200; attempt++) {
      await contract.call("POST", `${contract.path("configmaps")}?dryRun=All`, {
        body: configMapBody("probe"),
      });
      if (hook.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
    }
    hook.seen.length = 0;
    await run(hook);
  } finally {
    await contract.call("DELETE", `${base}/${contract.namespace}`);
    await hook.close();
  }
}

const patchOf = (operations: readonly Fields[]): Fields => ({
  allowed: true,
  patchType: "JSONPatch",
  patch: Buffer.from(JSON.stringify(operations)).toString("base64"),
});

export const admissionCases: readonly ContractCase[] = [
  {
    name: "lets mutating webhooks change objects",
    run: (contract) =>
      withHook(
        contract,
        "Mutating",
        () => ({ ...patchOf([{ op: "add", path: "/data/added", value: "yes" }]), warnings: ["look"] }),
        async () => {
          const made = await contract.call("POST", contract.path("configmaps"), { body: configMapBody("x") });
          assert.equal(made.code, 201, made.text);
          assert.deepEqual(made.json["data"], { a: "1", added: "yes" });
          assert.equal(String(made.headers["warning"]), '299 - "look"');
        },
      ),
  },
  {
    name: "tells webhooks everything about a request",
    run: (contract) =>
      withHook(
        contract,
        "Validating",
        () => ({ allowed: true }),
        async (hook) => {
          await contract.expect(201, "POST", `${contract.path("configmaps")}?fieldManager=me`, {
            body: configMapBody("x"),
          });
          await contract.expect(200, "PATCH", contract.path("configmaps", "x"), {
            type: "application/merge-patch+json",
            body: { data: { a: "2" } },
          });
          await contract.expect(200, "DELETE", contract.path("configmaps", "x"));
          // A real server publishes its root certificates in each new namespace.
          const [create, update, remove] = hook.seen.filter((seen) => textAt(seen, "name") === "x");
          const kind = { group: "", version: "v1", kind: "ConfigMap" };
          const resource = { group: "", version: "v1", resource: "configmaps" };
          for (const seen of [create, update, remove]) {
            assert.deepEqual(seen?.["kind"], kind);
            assert.deepEqual(seen?.["resource"], resource);
            assert.deepEqual(seen?.["requestKind"], kind);
            assert.deepEqual(seen?.["requestResource"], resource);
            assert.equal(seen?.["name"], "x");
            assert.equal(seen?.["namespace"], contract.namespace);
            assert.equal(seen?.["dryRun"], false);
            assert.equal(textAt(seen, "userInfo", "username"), "admin");
          }
          assert.deepEqual(
            [create?.["operation"], update?.["operation"], remove?.["operation"]],
            ["CREATE", "UPDATE", "DELETE"],
          );
          assert.deepEqual(create?.["options"], {
            kind: "CreateOptions",
            apiVersion: "meta.k8s.io/v1",
            fieldManager: "me",
          });
          assert.equal(create?.["oldObject"], null);
          assert.equal(valueAt(update, "oldObject", "data", "a"), "1");
          assert.equal(valueAt(update, "object", "data", "a"), "2");
          assert.equal(remove?.["object"], null);
          assert.equal(valueAt(remove, "oldObject", "data", "a"), "2");
          assert.ok(isFields(remove?.["options"]));
        },
      ),
  },
  {
    name: "passes refusals of webhooks on",
    run: (contract) =>
      withHook(
        contract,
        "Validating",
        (request) => ({
          allowed: false,
          status:
            textAt(request, "object", "data", "why") === "plain"
              ? {}
              : { code: 403, reason: "Forbidden", message: "not like this" },
        }),
        async () => {
          const refused = await contract.call("POST", contract.path("configmaps"), {
            body: configMapBody("x"),
          });
          assert.equal(refused.code, 403);
          assert.equal(textAt(refused.json, "reason"), "Forbidden");
          assert.equal(
            textAt(refused.json, "message"),
            'admission webhook "hook.example.com" denied the request: not like this',
          );
          const plain = await contract.call("POST", contract.path("configmaps"), {
            body: configMapBody("x", { data: { why: "plain" } }),
          });
          assert.equal(plain.code, 400);
          assert.equal(
            textAt(plain.json, "message"),
            'admission webhook "hook.example.com" denied the request without explanation',
          );
        },
      ),
  },
  {
    name: "fails or goes on when a webhook cannot be reached",
    async run(contract) {
      await withHook(
        contract,
        "Validating",
        () => ({ allowed: true }),
        async (hook) => {
          await hook.close();
          const refused = await contract.call("POST", contract.path("configmaps"), {
            body: configMapBody("x"),
          });
          assert.equal(refused.code, 500);
          assert.equal(textAt(refused.json, "reason"), "InternalError");
          const start = `Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: Post "${hook.url}?timeout=10s": `;
          assert.ok(textAt(refused.json, "message").startsWith(start), refused.text);
        },
      );
    },
  },
  {
    name: "ignores failing webhooks that may fail",
    run: (contract) =>
      withHook(
        contract,
        "Validating",
        () => ({ allowed: true }),
        async (hook) => {
          await hook.close();
          await contract.expect(201, "POST", contract.path("configmaps"), { body: configMapBody("x") });
        },
        { failurePolicy: "Ignore" },
      ),
  },
];
