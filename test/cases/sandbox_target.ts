/** A sandbox in this process as the place where suites run. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { customResourceDefinition, kinds } from "../../crds/index.ts";
import { type Credentials, fixedCredentials, systemClock } from "../../kube/index.ts";
import { type Sandbox, startSandbox } from "../../sandbox/index.ts";
import { accountToken, installAccess, MissingRights } from "../../testkit/kube/account_fixture.ts";
import { type Api, connect } from "../cluster/api.ts";
import { install } from "../cluster/install.ts";
import { byGates, runSuites } from "./runner.ts";
import type { StepResult } from "./step_result.ts";
import type { Suite } from "./suite.ts";

export interface TestSandbox {
  readonly api: Api;
  /** Of the controller's account. */
  readonly credentials: Credentials;
  readonly faults: Sandbox["faults"];
  /** Of the administrator. */
  readonly kubeconfig: string;
  /** Throws when the controller was refused anything that its account may not do. */
  stop(): Promise<void>;
}

/**
 * Starts a sandbox with nodes, without webhooks. `serves`: the kinds that have definitions; by default all.
 * Controllers watch what is served, so that fewer kinds make each of them cheaper.
 */
export async function startTestSandbox(
  options: { serves?: readonly string[]; pace?: Suite["pace"] } = {},
): Promise<TestSandbox> {
  const profile = options.pace ?? "fast";
  const rights = new MissingRights();
  const sandbox = await startSandbox({
    seed: 7,
    clock: systemClock,
    nodes: 3,
    agent: true,
    profile,
    log: rights.log,
  });
  const folder = mkdtempSync(join(tmpdir(), "refit-sandbox-"));
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, sandbox.kubeconfig, { mode: 0o600 });
  const api = connect(kubeconfig);
  await installAccess(kubeconfig);
  const token = await accountToken(kubeconfig, "kruise-manager");
  const served = kinds.filter(({ kind }) => options.serves?.includes(kind) ?? true);
  for (const kind of served) await api.create(customResourceDefinition(kind));
  return {
    api,
    credentials: fixedCredentials(sandbox.url, {
      headers: { authorization: `Bearer ${token}` },
      tls: { ca: sandbox.caCert },
    }),
    faults: sandbox.faults,
    kubeconfig,
    async stop() {
      await api.close();
      await sandbox.stop();
      rmSync(folder, { recursive: true, force: true });
      rights.check();
    },
  };
}

/** Sandboxes share this process, and each suite starts controllers: more at once would only wait for the processor. */
const mostAlone = 4;

/** Nodes are Ready when a sandbox starts: by default their NodeImages, and all that needs these, come half a minute later. */
const controllerFlags = ["--nodeimage-creation-delay=3s"];

/**
 * Runs suites on fresh sandboxes with controller processes beside them, at the same time: one for all that share a
 * controller and the pace of the nodes, and one for each that wants its own, some at once.
 */
export async function runOnSandbox(
  suites: readonly Suite[],
  report: (result: StepResult) => void,
): Promise<void> {
  const isAlone = (suite: Suite) => suite.needs.includes("own-controller");
  const shared = Map.groupBy(
    suites.filter((suite) => !isAlone(suite)),
    ({ pace }) => pace,
  );
  const groups = [...shared.values()].flatMap((group) => [...byGates(group).values()]);
  const waiting = suites.filter(isAlone);
  const lane = async () => {
    for (let suite = waiting.shift(); suite; suite = waiting.shift()) await runGroup([suite], report);
  };
  await Promise.all([
    ...groups.map((group) => runGroup(group, report)),
    ...Array.from({ length: mostAlone }, lane),
  ]);
}

async function runGroup(suites: readonly Suite[], report: (result: StepResult) => void): Promise<void> {
  const pace = suites[0]?.pace;
  const sandbox = await startTestSandbox({ serves: [], ...(pace === undefined ? {} : { pace }) });
  try {
    await install(sandbox.api, sandbox.kubeconfig);
    const target = {
      api: sandbox.api,
      kubeconfig: sandbox.kubeconfig,
      simulated: true,
      agents: true,
      startsControllers: true,
      controllerFlags,
      parallel: 10,
    };
    await runSuites([target], suites, { report });
  } finally {
    await sandbox.stop().catch((error: unknown) => {
      report({ outcome: "failed", suite: "all", step: "rights of the controller", error: String(error) });
    });
  }
}
