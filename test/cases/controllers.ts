/** The built controller as a process of its own, as the suites start and end it. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { request } from "undici";
import { controllerEnvironment, controllerNodeFlags } from "../../cli/index.ts";
import { freePorts, portAt } from "../../testkit/cli/free_ports.ts";
import { accountKubeconfig, grantForGates } from "../../testkit/kube/account_fixture.ts";
import { builtProgram } from "../built.ts";
import { startService, untilReady } from "../cluster/processes.ts";

export interface ControllerSettings {
  /** As `--feature-gates` takes them. */
  readonly gates?: string;
  /** Default off: a single controller starts working at once. */
  readonly leaderElection?: boolean;
  /** Keeps the webhook's certificates in the Secret, as in a cluster, instead of a folder. */
  readonly certificatesInSecret?: boolean;
  /** Over how many leases the owners are spread; default 1. */
  readonly shards?: number;
  /** For replicas that answer webhooks under one address; default: a port of its own. */
  readonly webhookPort?: number;
  /** Of the command line, after the others. */
  readonly flags?: readonly string[];
  /** Entry of the build that is started; default: the one of this tree. */
  readonly program?: string;
  /** Added to that of the process. */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface ControllerProcess {
  readonly pid: number;
  /** Undefined while it runs. */
  exitCode(): number | undefined;
  /** Ends it without a chance to tidy up. */
  kill(): Promise<void>;
  stop(): Promise<void>;
  /** The text of its metrics endpoint. */
  metrics(): Promise<string>;
  readonly webhookPort: number;
  readonly logFile: string;
}

const root = new URL("../../", import.meta.url).pathname;

/**
 * Starts a controller against a cluster and resolves when it answers that it is ready. `administrator` is the kubeconfig of
 * whoever installed it; it runs as its own account.
 */
export async function startControllerProcess(
  administrator: string,
  settings: ControllerSettings,
): Promise<ControllerProcess> {
  const folder = mkdtempSync(join(tmpdir(), "refit-controller-"));
  const kubeconfig = join(folder, "kubeconfig");
  await grantForGates(administrator, settings.gates ?? "");
  writeFileSync(kubeconfig, await accountKubeconfig(administrator, "kruise-manager"), { mode: 0o600 });
  const ports = await freePorts(3);
  const [metrics, health] = [portAt(ports, 0), portAt(ports, 1)];
  const webhook = settings.webhookPort ?? portAt(ports, 2);
  const certificateFolder = join(folder, "certificates");
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    `--metrics-addr=127.0.0.1:${metrics}`,
    `--health-probe-addr=127.0.0.1:${health}`,
    `--enable-leader-election=${settings.leaderElection ?? false}`,
    ...(settings.shards === undefined ? [] : [`--shards=${settings.shards}`]),
    ...(settings.gates === undefined ? [] : [`--feature-gates=${settings.gates}`]),
    ...(settings.flags ?? []),
  ];
  const service = startService(
    "controller",
    process.execPath,
    [...controllerNodeFlags, settings.program ?? builtProgram("refit"), "controller", ...flags],
    {
      logFolder: folder,
      workingFolder: root,
      environment: {
        ...controllerEnvironment,
        WEBHOOK_HOST: "127.0.0.1",
        WEBHOOK_PORT: String(webhook),
        WEBHOOK_CERT_DIR: certificateFolder,
        ...(settings.certificatesInSecret ? { WEBHOOK_CERT_WRITER: "secret" } : {}),
        ...settings.environment,
      },
    },
  );
  const end = () => {
    if (!process.env["REFIT_KEEP_LOGS"]) rmSync(folder, { recursive: true, force: true });
  };
  const ready = async () => {
    const answer = await request(`http://127.0.0.1:${health}/readyz`);
    await answer.body.dump();
    return answer.statusCode === 200;
  };
  try {
    await untilReady(service, ready, 60_000);
  } catch (error) {
    await service.stop();
    end();
    throw error;
  }
  return {
    pid: service.pid,
    exitCode: () => service.exitCode(),
    webhookPort: webhook,
    logFile: service.logFile,
    async kill() {
      service.kill("SIGKILL");
      await service.stop();
    },
    async stop() {
      await service.stop();
      end();
    },
    async metrics() {
      const answer = await request(`http://127.0.0.1:${metrics}/metrics`);
      return answer.body.text();
    },
  };
}

/** Fails unless exactly one leads. */
export async function leaderOf(both: readonly ControllerProcess[]): Promise<ControllerProcess> {
  const leading = await Promise.all(both.map(isLeader));
  const [leader, ...others] = both.filter((_, index) => leading[index]);
  assert.ok(leader !== undefined && others.length === 0, `who leads: ${leading}`);
  return leader;
}

export async function isLeader(controller: ControllerProcess): Promise<boolean> {
  return /^kruise_manager_is_leader 1$/m.test(await controller.metrics());
}
