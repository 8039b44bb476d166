import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { systemClock } from "../../kube/index.ts";
import { startSandbox } from "../../sandbox/index.ts";
import { run } from "../../testkit/cli/command_fixture.ts";
import { freePorts, portAt } from "../../testkit/cli/free_ports.ts";
import { accountKubeconfig, MissingRights } from "../../testkit/kube/account_fixture.ts";
import { parsedMetrics } from "../../testkit/kube/parsed_metrics.ts";
import { processHost } from "../host.ts";

const host = processHost();
const rights = new MissingRights();
const sandbox = await startSandbox({ seed: 11, clock: systemClock, log: rights.log });
t.teardown(async () => {
  await sandbox.stop();
  rights.check();
});
const folder = t.testdir();
const admin = join(folder, "admin");
writeFileSync(admin, sandbox.kubeconfig);
/** Of the controller's account, as soon as that is installed. */
const kubeconfig = join(folder, "kubeconfig");

async function listening(): Promise<{ server: Server; port: number }> {
  const server = createServer();
  server.listen(0);
  await once(server, "listening");
  const address = server.address();
  return { server, port: typeof address === "object" && address !== null ? address.port : 0 };
}

const webhookPort = portAt(await freePorts(1), 0);
const env = {
  WEBHOOK_HOST: "127.0.0.1",
  WEBHOOK_PORT: String(webhookPort),
  WEBHOOK_CERT_DIR: join(folder, "certificates"),
};
const line = `controller --kubeconfig ${kubeconfig} --metrics-addr=0`;

/** Starts a controller; resolves once its log says `text`, with what it wrote so far. */
function started(words: string, text: string, environment: Record<string, string> = env) {
  const stopping = new AbortController();
  const seen = Promise.withResolvers<void>();
  const logged: string[] = [];
  const write = (chunk: string): void => {
    logged.push(chunk);
    if (chunk.includes(text)) seen.resolve();
  };
  const ended = run(words, { host, io: { env: environment, stderr: { write }, signal: stopping.signal } });
  ended.then(() => seen.reject(new Error(logged.join(""))));
  seen.promise.catch(() => undefined);
  return { seen: seen.promise, ended, logged, stop: () => stopping.abort() };
}

t.test("installed, it leads, serves probes, and gives the lease back at SIGTERM", async (t) => {
  const installed = await run(
    `install --kubeconfig ${admin} --webhook-host 127.0.0.1 --webhook-port ${webhookPort}`,
    { host },
  );
  t.equal(installed.stderr, "");
  writeFileSync(kubeconfig, await accountKubeconfig(admin, "kruise-manager"));
  sandbox.cluster.create("sidecarsets.apps.kruise.io", {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "SidecarSet",
    metadata: { name: "logs" },
    spec: { containers: [] },
  });
  const ports = await freePorts(2);
  const [probes, metrics] = [portAt(ports, 0), portAt(ports, 1)];
  const controller = started(
    `${line} --health-probe-addr=127.0.0.1:${probes} --metrics-addr=127.0.0.1:${metrics}`,
    "controllers work",
  );
  await controller.seen;
  const probe = async (path: string) => (await fetch(`http://127.0.0.1:${probes}${path}`)).text();
  t.equal(await probe("/readyz"), "ok");
  t.equal(await probe("/healthz"), "ok");
  const told = parsedMetrics(await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text());
  const named = (name: string) => told.find((family) => family.name === name);
  t.strictSame(named("kruise_manager_is_leader")?.samples, [{ labels: {}, value: 1 }]);
  t.equal(named("kruise_sidecarset_created"), undefined, "of workloads only by the flag");
  const lease = () =>
    sandbox.cluster.get("leases.coordination.k8s.io", { namespace: "kruise-system", name: "kruise-manager" });
  t.match(lease(), { spec: { holderIdentity: /_/ } });
  for (const resource of ["sidecarsets.apps.kruise.io", "namespaces", "clonesets.apps.kruise.io"])
    t.equal(sandbox.faults.watches({ resource }).length, 1, `admission and controllers share ${resource}`);
  controller.stop();
  t.equal((await controller.ended).code, 0);
  t.match(controller.logged.join(""), /stopping[\s\S]*stopped/);
  t.notMatch(lease(), { spec: { holderIdentity: /_/ } });
});

t.test(
  "a replica whose lease could not be renewed goes on answering webhooks, and leads again",
  async (t) => {
    const probes = portAt(await freePorts(1), 0);
    const terms =
      "--leader-election-lease-duration=3s --leader-election-renew-deadline=1s --leader-election-retry-period=200ms";
    const controller = started(
      `${line} --health-probe-addr=127.0.0.1:${probes} ${terms}`,
      "controllers work",
    );
    await controller.seen;
    const said = (text: string) => controller.logged.join("").split(text).length - 1;
    const until = async (text: string, times: number) => {
      const giveUpAt = Date.now() + 60_000;
      while (said(text) < times) {
        const over = await Promise.race([sleep(50, false), controller.ended.then(() => true)]);
        if (over || Date.now() > giveUpAt)
          throw new Error(`it did not say "${text}" ${times} times:\n${controller.logged.join("")}`);
      }
    };
    // On a machine that stalls, leadership may have ended before.
    const losses = said("leadership ended");
    const refused = sandbox.faults.add({
      verb: "update",
      resource: "leases.coordination.k8s.io",
      effect: { type: "status", code: 500 },
    });
    await until("leadership ended", losses + 1);
    const starts = said("controllers work");
    t.equal(await (await fetch(`http://127.0.0.1:${probes}/readyz`)).text(), "ok", "webhooks are answered");
    refused();
    await until("controllers work", starts + 1);
    controller.stop();
    t.equal((await controller.ended).code, 0);
  },
);

t.test("json log lines are JSON", async (t) => {
  const controller = started(
    `${line} --health-probe-addr=0 --logging-format=json --enable-leader-election=false`,
    "controllers work",
  );
  await controller.seen;
  controller.stop();
  t.equal((await controller.ended).code, 0);
  const first: unknown = JSON.parse(controller.logged[0] ?? "");
  t.match(first, { level: "info", msg: "starting", ts: Number });
});

t.test("an address that is taken is one line that names its flag", async (t) => {
  const { server, port } = await listening();
  t.teardown(() => server.close());
  const taken = await run(`controller --kubeconfig ${kubeconfig} --metrics-addr=:${port}`, {
    host,
    io: { env },
  });
  t.equal(taken.code, 1);
  t.equal(
    taken.stderr.trimEnd().split("\n").at(-1),
    `error: cannot listen on *:${port}: the port is taken; choose another with --metrics-addr`,
  );
  const webhook = await run(`${line} --health-probe-addr=0`, {
    host,
    io: { env: { ...env, WEBHOOK_PORT: String(port) } },
  });
  t.equal(webhook.code, 1);
  t.equal(
    webhook.stderr.trimEnd().split("\n").at(-1),
    `error: cannot listen on 127.0.0.1:${port}: the port is taken; choose another with WEBHOOK_PORT`,
  );
});

t.test("a cluster that does not answer is one line", async (t) => {
  const { server, port } = await listening();
  server.close();
  await once(server, "close");
  const dead = join(folder, "dead");
  writeFileSync(dead, sandbox.kubeconfig.replace(/server: .*/, `server: https://127.0.0.1:${port}`));
  const { code, stderr } = await run(`controller --kubeconfig ${dead}`, { host, io: { env } });
  t.equal(code, 1);
  t.match(stderr.trimEnd().split("\n").at(-1), /^Unable to connect to the server: .*ECONNREFUSED/);
});

t.test("behind a Service it answers webhooks for a while after it has given the lease back", async (t) => {
  const probes = portAt(await freePorts(1), 0);
  const serviceEnv = { WEBHOOK_PORT: env.WEBHOOK_PORT, WEBHOOK_CERT_DIR: env.WEBHOOK_CERT_DIR };
  const controller = started(
    `${line} --health-probe-addr=127.0.0.1:${probes}`,
    "controllers work",
    serviceEnv,
  );
  await controller.seen;
  const ready = await fetch(`http://127.0.0.1:${probes}/readyz`);
  t.equal(ready.status, 200);
  controller.stop();
  const lease = { namespace: "kruise-system", name: "kruise-manager" };
  const holder = () =>
    JSON.stringify(sandbox.cluster.get("leases.coordination.k8s.io", lease)?.["spec"] ?? {});
  while (/_/.test(holder()))
    if (await Promise.race([sleep(20, false), controller.ended.then(() => true)]))
      throw new Error(`it ended and holds the lease:\n${controller.logged.join("")}`);
  t.equal((await fetch(`http://127.0.0.1:${probes}/readyz`)).status, 500, "no new calls are sent to it");
  const socket = connect(webhookPort, "127.0.0.1");
  await once(socket, "connect");
  socket.destroy();
  t.equal((await controller.ended).code, 0);
});
