import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { kinds } from "../../../crds/index.ts";
import { nullLog, seededRandom } from "../../../kube/index.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { type FaultRule, withFaults } from "../../../testkit/kube/fake_faults.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import { listeningSockets } from "../../../testkit/kube/listening_sockets.ts";
import { admissionWebhooks } from "../../start_admission.ts";
import { servingNames } from "./certificates/certificate_set.ts";
import { readCertificateDirectory } from "./certificates/directory.ts";
import { generateCertificates } from "./certificates/generate.ts";
import { type Generate, secrets } from "./certificates/store.ts";
import { mutatingConfigurations } from "./cluster_trust.ts";
import { allowed } from "./request.ts";
import { nullAdmissionMetrics } from "./server.ts";
import { webhookSettings } from "./settings.ts";
import { createWebhooks, type WebhooksOptions } from "./webhooks.ts";

// Made beforehand: real time passes while keys are made, and the tests' clock must not run ahead of it.
const names = servingNames({ name: "kruise-webhook-service", namespace: "kruise-system" });
const made = [await generateCertificates(names, Date.now()), await generateCertificates(names, Date.now())];

function generator(): Generate {
  const left = [...made];
  return async () => left.shift() ?? Promise.reject(new Error("no more certificates"));
}

const secret = { namespace: "kruise-system", name: "kruise-webhook-certs" };
const mutating = { name: "kruise-mutating-webhook-configuration" };

function setup(t: { teardown(run: () => Promise<void>): void }, changes: Partial<WebhooksOptions> = {}) {
  // Certificates are made for real time, which is that of the TLS handshake.
  const clock = testClock(Date.now());
  const server = fakeServer();
  const { client } = server;
  // Not tap's own, which is removed before what the test set up ends.
  const folder = mkdtempSync(join(tmpdir(), "refit-webhooks-"));
  const directory = join(folder, "certs");
  const given = webhookSettings({ WEBHOOK_CERT_DIR: directory }, { externalCerts: false });
  const settings = { ...given, port: 0, listenHost: "localhost" };
  const handlers = new Map([["/mutate-pod", () => allowed]]);
  const webhooks = createWebhooks({
    settings,
    client,
    webhooks: admissionWebhooks,
    handlers,
    kinds,
    clock,
    random: seededRandom(1),
    log: nullLog,
    metrics: nullAdmissionMetrics,
    generate: generator(),
    ...changes,
  });
  // Time stands still: a stop gives up on a pass after a second, which would go on to write files here.
  t.teardown(async () => {
    await webhooks.stop();
    await rm(folder, { recursive: true });
  });
  return { clock, server, client, directory, webhooks };
}

/** Lets promises and file operations run until something holds. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets time pass until the work is over: what it waits for may only begin when files have been read. */
async function passing(clock: { advance(ms: number): Promise<void> }, work: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  await until(async () => {
    await clock.advance(1000);
    return isOver;
  });
  await over;
}

t.test("a start ends with webhooks that can be called", async (t) => {
  const { client, directory, webhooks } = setup(t);
  t.match(await webhooks.ready(), "webhook controller has not initialized");
  const { port } = await webhooks.start();
  t.ok(port > 0);
  t.equal(await webhooks.ready(), undefined);
  const { data } = await client.get(secrets, secret);
  const { webhooks: entries } = await client.get(mutatingConfigurations, mutating);
  t.match(entries, [{ name: "mpod.kb.io", clientConfig: { caBundle: data?.["ca-cert.pem"] } }]);
  t.equal(entries?.length, 1, "entries without a handler are not registered");
  t.equal((await readCertificateDirectory(directory))?.caCert, webhooks.certificates.caCert);
});

t.test(
  "a deleted Secret is back within a minute, with trust in the new CA, and the server goes on",
  async (t) => {
    const { clock, server, client, webhooks } = setup(t);
    await webhooks.start();
    const before = webhooks.certificates.caCert;
    server.remove("secrets", "kruise-system/kruise-webhook-certs");
    await until(() => clock.pending > 0);
    for (let second = 0; second < 61; second++) await clock.advance(1000);
    // It is served a moment after it is trusted, and the former one is trusted for a while.
    await until(async () => {
      await clock.advance(1000);
      return webhooks.certificates.caCert !== before;
    });
    const { data } = await client.get(secrets, secret);
    await until(async () => {
      await clock.advance(1000);
      const { webhooks: entries } = await client.get(mutatingConfigurations, mutating);
      return Object(entries?.[0]?.["clientConfig"]).caBundle === data?.["ca-cert.pem"];
    });
    t.equal(await webhooks.ready(), undefined);
  },
);

t.test("a change of a configuration is looked at at once", async (t) => {
  const { clock, client, webhooks } = setup(t);
  await webhooks.start();
  await clock.advance(1000);
  await client.patch(mutatingConfigurations, mutating, { type: "merge", body: { webhooks: [] } });
  // Files are written in real time, however long that takes: the clock stands still meanwhile.
  await clock.advance(5000);
  await until(async () => (await client.get(mutatingConfigurations, mutating)).webhooks?.length === 1);
  t.ok(clock.monotonic() < 30_000, "long before the minute is over");
});

function failOnce(): FaultRule {
  let calls = 0;
  return (target) => ({
    before: () => {
      if (target === "validatingwebhookconfigurations" && calls++ === 0) throw new Error("injected");
    },
  });
}

t.test("a pass that failed is repeated", async (t) => {
  const base = fakeServer();
  const { clock, webhooks } = setup(t, { client: withFaults(base.client, { create: failOnce() }) });
  // Files are written in real time, however long that takes: its time does not run out meanwhile.
  const started = webhooks.start(3_600_000);
  await until(async () => {
    await clock.advance(100);
    return base.size === 3;
  });
  await started;
  t.equal(await webhooks.ready(), undefined);
});

t.test("a start that does not get anywhere says so and why", async (t) => {
  const broken = withFaults(fakeServer().client, {
    get: () => ({
      before: () => {
        throw new Error("no route to host");
      },
    }),
  });
  const { clock, webhooks } = setup(t, { client: broken });
  const started = t.rejects(webhooks.start(60_000), {
    message: "failed to start webhook controller for waiting more than 60.000000s: no route to host",
  });
  await passing(clock, started);
});

t.test("a loopback WEBHOOK_HOST is where it listens, and any other leaves it on all addresses", async (t) => {
  const everywhere = ["::", "0.0.0.0"];
  const table: readonly (readonly [host: string, addresses: readonly string[]])[] = [
    ["", everywhere],
    ["127.0.0.1", ["127.0.0.1"]],
    ["127.3.2.1", ["127.3.2.1"]],
    ["localhost", ["127.0.0.1", "::1"]],
    ["192.0.2.1", everywhere],
    ["2001:db8::1", everywhere],
    // Names of others, and one that this machine may well resolve to loopback.
    ["127.example.com", everywhere],
    [hostname(), everywhere],
    ["controller.localhost", everywhere],
  ];
  for (const [host, addresses] of table) {
    const environment = { WEBHOOK_HOST: host, WEBHOOK_CERT_WRITER: "secret" };
    const settings = { ...webhookSettings(environment, { externalCerts: false }), port: 0 };
    const generate = () =>
      generateCertificates(servingNames({ name: "s", namespace: "n" }, host), Date.now());
    const { webhooks } = setup(t, { settings, generate });
    const { port } = await webhooks.start();
    const sockets = listeningSockets([process.pid]).filter((socket) => socket.port === port);
    t.equal(sockets.length, 1, host);
    t.ok(
      sockets.every(({ address }) => addresses.includes(address)),
      `${host}: ${sockets[0]?.address}`,
    );
    t.equal(await webhooks.ready(), undefined, `${host}: the check finds it`);
  }
});

t.test("the IPv6 loopback is listened on where it is named", async (t) => {
  // Not opened: not every machine has it.
  const { listenHost } = webhookSettings(
    { WEBHOOK_HOST: "::1", WEBHOOK_CERT_WRITER: "secret" },
    { externalCerts: false },
  );
  t.equal(listenHost, "::1");
});

t.test("settings come from the environment", async (t) => {
  const gates = { externalCerts: false };
  t.match(webhookSettings({}, gates), {
    namespace: "kruise-system",
    service: "kruise-webhook-service",
    secret: "kruise-webhook-certs",
    host: undefined,
    port: 9876,
    certificateDirectory: undefined,
    certificates: "secret",
  });
  const home = { WEBHOOK_HOST: "h", HOME: "/home/a" };
  t.match(webhookSettings(home, gates), {
    certificates: "fs",
    certificateDirectory: "/home/a/.local/state/refit/webhook-certs",
  });
  t.match(webhookSettings({ ...home, XDG_STATE_HOME: "/state" }, gates), {
    certificateDirectory: "/state/refit/webhook-certs",
  });
  t.throws(() => webhookSettings({ WEBHOOK_HOST: "h" }, gates), /WEBHOOK_CERT_DIR must name a directory/);
  t.equal(
    webhookSettings({ WEBHOOK_HOST: "h", WEBHOOK_CERT_WRITER: "secret" }, gates).certificates,
    "secret",
  );
  t.equal(webhookSettings({ HOME: "/home/a", WEBHOOK_CERT_WRITER: "fs" }, gates).certificates, "fs");
  t.equal(webhookSettings({ WEBHOOK_CERT_WRITER: "fs" }, { externalCerts: true }).certificates, "external");
  t.throws(() => webhookSettings({ WEBHOOK_PORT: "many" }, gates), /WEBHOOK_PORT must be a port number/);
});
