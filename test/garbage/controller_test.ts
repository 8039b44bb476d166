import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import t from "tap";
import { Agent, request } from "undici";
import { seededRandom, systemClock } from "../../kube/index.ts";
import { startSandbox } from "../../sandbox/index.ts";
import { freePorts, portAt } from "../../testkit/cli/free_ports.ts";
import { accountKubeconfig, MissingRights } from "../../testkit/kube/account_fixture.ts";
import { builtProgram } from "../built.ts";
import { startService, tailOf, untilReady } from "../cluster/processes.ts";
import { frameGarbage } from "./frames.ts";
import { plainGarbage } from "./plain.ts";
import { recordGarbage } from "./records.ts";
import { bears } from "./thrower.ts";

const seed = 20260402;
const review = JSON.stringify({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: {
    uid: "u",
    operation: "CREATE",
    resource: { group: "", version: "v1", resource: "pods" },
    object: {},
  },
});

t.test(`the controller bears garbage, seed ${seed}`, async (t) => {
  const random = seededRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), "refit-garbage-"));
  const rights = new MissingRights();
  const sandbox = await startSandbox({ seed, clock: systemClock, nodes: 0, log: rights.log });
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, sandbox.kubeconfig, { mode: 0o600 });
  const ports = await freePorts(3);
  const [metrics, health, webhook] = [portAt(ports, 0), portAt(ports, 1), portAt(ports, 2)];
  const options = {
    logFolder: folder,
    environment: {
      WEBHOOK_HOST: "127.0.0.1",
      WEBHOOK_PORT: String(webhook),
      WEBHOOK_CERT_DIR: join(folder, "certificates"),
    },
  };
  const refit = (name: string, ...words: readonly string[]) =>
    startService(
      name,
      process.execPath,
      [builtProgram("refit"), ...words, `--kubeconfig=${kubeconfig}`],
      options,
    );
  const installing = refit("install", "install", "--webhook-host=127.0.0.1", `--webhook-port=${webhook}`);
  t.teardown(async () => {
    await sandbox.stop();
    rmSync(folder, { recursive: true, force: true });
    rights.check();
  });
  while (installing.exitCode() === undefined) await systemClock.sleep(50);
  assert.equal(installing.exitCode(), 0, tailOf(installing.logFile));
  // Its account's, now that it is there.
  writeFileSync(kubeconfig, await accountKubeconfig(kubeconfig, "kruise-manager"), { mode: 0o600 });
  const controller = refit(
    "controller",
    "controller",
    `--metrics-addr=127.0.0.1:${metrics}`,
    `--health-probe-addr=127.0.0.1:${health}`,
    "--enable-leader-election=false",
  );
  const trusting = new Agent({ connect: { rejectUnauthorized: false } });
  t.teardown(async () => {
    await controller.stop();
    await trusting.close();
  });
  const ready = async () => {
    const answer = await request(`http://127.0.0.1:${health}/readyz`);
    await answer.body.dump();
    return answer.statusCode === 200;
  };
  await untilReady(controller, ready, 60_000);
  const everything = [...plainGarbage(random), ...recordGarbage(random)];
  await bears(
    t,
    {
      pid: controller.pid,
      exitCode: () => controller.exitCode(),
      log: () => tailOf(controller.logFile, 60),
      async ask() {
        assert.ok(await ready(), "it is ready");
        const answer = await request(`https://127.0.0.1:${webhook}/mutate-pod`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: review,
          dispatcher: trusting,
        });
        assert.match(await answer.body.text(), /"allowed":true/);
      },
    },
    [
      { port: { number: health, behind: "nothing" }, garbage: everything },
      { port: { number: metrics, behind: "nothing" }, garbage: everything },
      { port: { number: webhook, behind: "nothing" }, garbage: recordGarbage(random) },
      { port: { number: webhook, behind: "tls" }, garbage: plainGarbage(random) },
      { port: { number: webhook, behind: "h2" }, garbage: frameGarbage(random) },
    ],
  );
});
