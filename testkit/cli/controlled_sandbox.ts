/** A sandbox with the controller as it ships, under the rights that are installed for it; commands run against both. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { processHost } from "../../cli/host.ts";
import { systemClock } from "../../kube/index.ts";
import { type ProfileName, type SandboxWithNodes, startSandbox } from "../../sandbox/index.ts";
import { accountKubeconfig, MissingRights } from "../kube/account_fixture.ts";
import { apiOf } from "../sandbox/sandbox_client.ts";
import { type Run, run } from "./command_fixture.ts";
import { freePorts, portAt } from "./free_ports.ts";

export interface ControlledSandbox {
  readonly sandbox: SandboxWithNodes;
  readonly api: ReturnType<typeof apiOf>;
  /** Runs a command line against the sandbox. */
  refit(words: string): Promise<Run>;
  /** Ends the controller. */
  stopController(): Promise<Run>;
}

export interface ControlledOptions {
  readonly seed: number;
  /** Feature gates of the controller. */
  readonly gates: string;
  /** Its others. */
  readonly flags?: string;
  /** How long nodes take for what they do; default: as short as can be. */
  readonly profile?: ProfileName;
}

/** Three nodes with agents. Resolves once the controller leads; `t` ends all of it. */
export async function startControlledSandbox(
  t: Test,
  { seed, gates, flags = "", profile = "fast" }: ControlledOptions,
): Promise<ControlledSandbox> {
  const host = processHost();
  const rights = new MissingRights();
  const sandbox = await startSandbox({
    seed,
    clock: systemClock,
    nodes: 3,
    agent: true,
    profile,
    log: rights.log,
  });
  t.teardown(async () => {
    await sandbox.stop();
    rights.check();
  });
  const api = apiOf(sandbox);
  t.teardown(() => api.close());
  const folder = t.testdir();
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, sandbox.kubeconfig);
  const refit = (words: string): Promise<Run> => run(`${words} --kubeconfig ${kubeconfig}`, { host });
  const webhookPort = portAt(await freePorts(1), 0);
  const flag = `--feature-gates=${gates}`;
  const installed = await refit(
    `install --webhook-host 127.0.0.1 --webhook-port ${webhookPort} --controller-flag=${flag}`,
  );
  if (installed.code !== 0) throw new Error(installed.stderr);
  const env = {
    WEBHOOK_HOST: "127.0.0.1",
    WEBHOOK_PORT: String(webhookPort),
    WEBHOOK_CERT_DIR: join(folder, "certificates"),
  };
  const working = Promise.withResolvers<void>();
  const logged: string[] = [];
  const write = (text: string): void => {
    logged.push(text);
    if (text.includes("controllers work")) working.resolve();
  };
  const stopping = new AbortController();
  const io = { env, stderr: { write }, signal: stopping.signal };
  const own = join(folder, "controller.kubeconfig");
  writeFileSync(own, await accountKubeconfig(kubeconfig, "kruise-manager"));
  const line =
    `controller --kubeconfig ${own} --metrics-addr=0 --health-probe-addr=0 --nodeimage-creation-delay=1s ${flag} ${flags}`.trimEnd();
  const ended = run(line, { host, io });
  ended.then(() => working.reject(new Error(logged.join(""))));
  await working.promise;
  const stopController = (): Promise<Run> => {
    stopping.abort();
    return ended;
  };
  return { sandbox, api, refit, stopController };
}
