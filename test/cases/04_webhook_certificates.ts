import assert from "node:assert/strict";
import type { X509Certificate } from "node:crypto";
import { connect as connectTls } from "node:tls";
import { Agent, request } from "undici";

import { isRecord } from "../cluster/api.ts";
import type { ControllerProcess } from "./controllers.ts";
import { resourceOf } from "./handle.ts";
import type { Suite } from "./suite.ts";
import { bundlesOf, configurationNames, entriesOf } from "./trusted_authorities.ts";
import type { World } from "./world.ts";

const clones = resourceOf("CloneSet", "v1alpha1");
const keys = ["ca-cert.pem", "ca-key.pem", "cert.pem", "key.pem", "tls.crt", "tls.key"];
export const suite: Suite = {
  number: "04",
  title: "Admission and its certificates",
  needs: ["own-controller"],
  versions: ["v1alpha1"],
  async run(world) {
    const controller = await world.startController({ certificatesInSecret: true });
    await world.step("1 the API is served", async () => {
      const { status } = await world.api.request("GET", "/apis/admissionregistration.k8s.io/v1");
      assert.equal(status, 200);
    });
    await world.step("2 defaults in both versions", () => checkDefaults(world, "defaults"));
    await world.step("3 a mismatching selector is refused", async () => {
      const manifest = bare("mismatch", { case: "other" });
      const message = await world.refused(() => world.apply(manifest), 422);
      assert.ok(message.startsWith('admission webhook "vcloneset.kb.io" denied the request:'), message);
      assert.ok(message.includes("spec.template.metadata.labels"), message);
      assert.ok(message.includes("`selector` does not match template `labels`"), message);
      assert.equal(await world.find(clones, "mismatch"), undefined);
    });
    await world.step("4 one authority everywhere", async () => {
      await world.once("bundles", () => checkBundles(world));
      const certificate = await servingCertificate(controller);
      const names = certificate.subjectAltName ?? "";
      for (const name of ["kruise-webhook-service.kruise-system.svc", "localhost"]) {
        assert.ok(names.includes(`DNS:${name}`), names);
      }
    });
    await world.step("5 a deleted Secret comes back", () => recover(world, controller));
    await world.step("6 an edited entry is set back", () => setBack(world));
    await world.step("7 malformed requests", () => malformed(world, controller));
  },
};

function bare(name: string, labels: Record<string, string>): object {
  return {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "CloneSet",
    metadata: { name },
    spec: {
      selector: { matchLabels: { case: name } },
      template: { metadata: { labels }, spec: { containers: [{ name: "nginx", image: "nginx:1.20" }] } },
    },
  };
}

async function checkDefaults(world: World, name: string): Promise<void> {
  await world.apply(bare(name, { case: name }));
  const read = (version: string) => world.object(`clonesets.${version}.apps.kruise.io`, name);
  const alpha = await read("v1alpha1");
  assert.equal(alpha.spec?.replicas, 1);
  assert.equal(alpha.spec?.["revisionHistoryLimit"], 10);
  const numbers = { partition: 0, maxUnavailable: "20%", maxSurge: 0 };
  assert.deepEqual(alpha.spec?.updateStrategy, { type: "ReCreate", ...numbers });
  const pod = alpha.spec?.template?.spec;
  assert.equal(pod?.containers?.[0]?.imagePullPolicy, "Always");
  assert.deepEqual(
    [pod?.["restartPolicy"], pod?.["dnsPolicy"], pod?.["terminationGracePeriodSeconds"]],
    ["Always", "ClusterFirst", 30],
  );
  await world.until("both versions show one object", async () => {
    const [one, two] = [await read("v1alpha1"), await read("v1beta1")];
    assert.equal(one.metadata.uid, two.metadata.uid);
    assert.equal(one.metadata.resourceVersion, two.metadata.resourceVersion);
    const rollingUpdate = { podUpdatePolicy: "ReCreate", ...numbers };
    assert.deepEqual(two.spec?.updateStrategy, { type: "RollingUpdate", rollingUpdate });
    assert.equal(two.spec?.scaleStrategy?.["enablePVCReuse"], true);
  });
}

async function secret(world: World): Promise<Record<string, string> | undefined> {
  const found = await world.api.find("secrets", "kruise-webhook-certs", "kruise-system");
  const { data } = found ?? {};
  return isRecord(data)
    ? Object.fromEntries(Object.entries(data).map(([key, value]) => [key, String(value)]))
    : undefined;
}

/** Returns the authority's base64 PEM after comparing every bundle with it. */
async function checkBundles(world: World): Promise<void> {
  const data = await secret(world);
  assert.deepEqual(Object.keys(data ?? {}).sort(), keys);
  const authority = data?.["ca-cert.pem"];
  assert.ok(authority);
  const bundles = await bundlesOf(world.api);
  assert.ok(bundles.length > 0);
  for (const [place, bundle] of bundles) {
    assert.equal(normal(bundle), normal(authority), place);
  }
}

function normal(base64: string): string {
  return Buffer.from(base64, "base64").toString("utf8").trim();
}

function servingCertificate(controller: ControllerProcess): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port: controller.webhookPort, rejectUnauthorized: false };
    const socket = connectTls(options, () => {
      const certificate = socket.getPeerX509Certificate();
      socket.destroy();
      if (certificate === undefined) reject(new Error("the webhook server showed no certificate"));
      else resolve(certificate);
    });
    socket.once("error", reject);
  });
}

async function recover(world: World, controller: ControllerProcess): Promise<void> {
  await world.api.remove("secrets", "kruise-webhook-certs", "kruise-system");
  await world.until("the Secret is back and every bundle fits", () => checkBundles(world), {
    timeoutMs: 100_000,
    stableMs: 1_000,
  });
  await world.once(
    "conversion works with it",
    async () => {
      for (const version of ["v1alpha1", "v1beta1"])
        await world.object(`clonesets.${version}.apps.kruise.io`, "defaults");
    },
    20_000,
  );
  await world.once("admission works with it", () => checkDefaults(world, "after-recovery"), 20_000);
  assert.equal(controller.exitCode(), undefined);
}

async function setBack(world: World): Promise<void> {
  const kind = "mutatingwebhookconfigurations";
  const name = configurationNames[kind];
  const timeoutOf = async () => entriesOf(await world.api.get(kind, name))[0]?.["timeoutSeconds"];
  const before = await timeoutOf();
  const edit = [{ op: "replace", path: "/webhooks/0/timeoutSeconds", value: 7 }];
  await world.patch(kind, name, "json", edit);
  await world.once("set back", async () => assert.equal(await timeoutOf(), before), 100_000);
}

async function malformed(world: World, controller: ControllerProcess): Promise<void> {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  const url = `https://127.0.0.1:${controller.webhookPort}/validate-apps-kruise-io-cloneset`;
  for (const body of ["", '{"kind":"Pod"}']) {
    const answer = await request(url, {
      method: "POST",
      dispatcher,
      body,
      headers: { "content-type": "application/json" },
    });
    const text = await answer.body.text();
    assert.equal(codeOf(answer.statusCode, text), 400, text);
  }
  await dispatcher.destroy();
  assert.equal(controller.exitCode(), undefined);
  await checkDefaults(world, "after-malformed");
}

/** The code stands in the answered review, or is the answer's own. */
function codeOf(status: number, text: string): unknown {
  if (status !== 200) return status;
  const review: unknown = JSON.parse(text);
  const response = isRecord(review) ? review["response"] : undefined;
  const inner = isRecord(response) ? response["status"] : undefined;
  return isRecord(inner) ? inner["code"] : undefined;
}
