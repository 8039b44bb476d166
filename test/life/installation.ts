/** Two replicas of a build, replaced as a Deployment replaces its pods. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type ControllerProcess, type ControllerSettings, leaderOf } from "../cases/controllers.ts";
import type { World } from "../cases/world.ts";

const run = promisify(execFile);

export const systemNamespace = "kruise-system";

export class Installation {
  readonly #world: World;
  readonly #settings: ControllerSettings;
  #replicas: readonly ControllerProcess[] = [];

  constructor(world: World, settings: ControllerSettings = {}) {
    this.#world = world;
    this.#settings = settings;
  }

  get replicas(): readonly ControllerProcess[] {
    return this.#replicas;
  }

  /** Starts two replicas at one address, of a build or of the present one. */
  async start(program?: string): Promise<void> {
    const port = this.#replicas[0]?.webhookPort;
    const first = await this.#startOne(program, port);
    this.#replicas = [first, await this.#startOne(program, first.webhookPort)];
  }

  /** Starts two replicas; resolves when one of them leads. */
  async begin(): Promise<void> {
    await this.start();
    await this.#world.until("one leader", async () => void (await leaderOf(this.#replicas)), { stableMs: 0 });
  }

  /** New replicas are ready before the first old one ends. */
  async replace(program?: string): Promise<void> {
    const former = this.#replicas;
    await this.start(program);
    for (const replica of former) await replica.stop();
  }

  /** Kills a replica; another one is started in its place, as a node does. */
  async killed(replica: ControllerProcess): Promise<void> {
    await replica.kill();
    const started = await this.#startOne(undefined, replica.webhookPort);
    this.#replicas = [...this.#replicas.filter((one) => one !== replica), started];
  }

  async stop(): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.stop()));
  }

  #startOne(program: string | undefined, webhookPort: number | undefined): Promise<ControllerProcess> {
    return this.#world.startController({
      leaderElection: true,
      certificatesInSecret: true,
      ...this.#settings,
      ...(webhookPort === undefined ? {} : { webhookPort }),
      ...(program === undefined ? {} : { program }),
    });
  }
}

/** Runs `refit install` of a build for controllers outside of the cluster. */
export async function installBuild(program: string, kubeconfig: string): Promise<void> {
  const words = ["install", "--kubeconfig", kubeconfig, "--webhook-host", "127.0.0.1"];
  await run(process.execPath, [program, ...words], { timeout: 120_000 });
}

/** Runs `refit uninstall` and waits until the namespace of the controller is gone. */
export async function removeInstallation(world: World): Promise<void> {
  const { code, stderr } = await world.refit("uninstall");
  assert.deepEqual([code, stderr], [0, ""]);
  await world.until("the namespace is gone", async () =>
    assert.equal(await world.api.find("namespaces", systemNamespace), undefined),
  );
}

/** Whether the installed definition of CloneSets has this description. */
export async function definitionSays(world: World, description: string): Promise<boolean> {
  const definition = await world.api.get("customresourcedefinitions", "clonesets.apps.kruise.io");
  return JSON.stringify(definition.spec).includes(JSON.stringify(description));
}
