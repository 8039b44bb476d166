/**
 * A node for tests of the whole agent: the sandbox's API server behind a gate that can be shut, a fake runtime on a real
 * socket, and the agent as a process of its own that can be killed.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, connect as dial, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import { request } from "undici";
import { agentEnvironment } from "../../agent/index.ts";
import { customResourceDefinition, kinds } from "../../crds/index.ts";
import { type Credentials, fixedCredentials, systemClock } from "../../kube/index.ts";
import { startSandbox } from "../../sandbox/index.ts";
import { freePorts, portAt } from "../../testkit/cli/free_ports.ts";
import { type FakeCri, startFakeCri } from "../../testkit/cri/fake_cri.ts";
import {
  accountKubeconfig,
  accountToken,
  installAccess,
  MissingRights,
} from "../../testkit/kube/account_fixture.ts";
import { builtProgram } from "../built.ts";
import { type Api, connect, type Item, isRecord } from "../cluster/api.ts";
import { Patience } from "../cluster/patience.ts";
import { type Service, startService, tailOf } from "../cluster/processes.ts";

export const node = "node-1";
export const nodeImages = "nodeimages.v1beta1.apps.kruise.io";
export const recreateRequests = "containerrecreaterequests.v1beta1.apps.kruise.io";
const root = new URL("../../", import.meta.url).pathname;

export interface NodeUnderTest {
  readonly api: Api;
  readonly folder: string;
  readonly socket: string;
  readonly stateFolder: string;
  readonly agent: AgentUnderTest;
  /** Between the agent and its API server. */
  readonly gate: Gate;
  /** For a controller beside the agent: of its account. */
  readonly credentials: Credentials;
}

export interface NodeOptions {
  /** Definitions that check nothing, as a server without this project's schemas would have them. */
  readonly unchecked?: boolean;
  /** A runtime that is there already; default: none, the test starts a fake one with `startFake`. */
  readonly socket?: string;
  readonly stateFolder?: string;
  /** Program and arguments before the agent's flags, which then name no socket; default: the sources, on Node. */
  readonly program?: (place: AgentPlace) => readonly string[];
}

/** Files of one agent. */
export interface AgentPlace {
  readonly kubeconfig: string;
  readonly stateFolder: string;
}

export async function startNode(t: Test, options: NodeOptions = {}): Promise<NodeUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), "refit-node-"));
  const rights = new MissingRights();
  const sandbox = await startSandbox({ seed: 7, clock: systemClock, nodes: 0, log: rights.log });
  const gate = await openGate(Number(new URL(sandbox.url).port));
  const admin = join(folder, "admin.kubeconfig");
  writeFileSync(admin, sandbox.kubeconfig, { mode: 0o600 });
  const api = connect(admin);
  for (const kind of kinds) {
    const definition = customResourceDefinition(kind);
    await api.create(options.unchecked ? unchecked(definition) : definition);
  }
  const kubeconfig = join(folder, "agent.kubeconfig");
  await installAccess(admin);
  const config = await accountKubeconfig(admin, "kruise-daemon");
  writeFileSync(kubeconfig, config.replaceAll(sandbox.url, `https://127.0.0.1:${gate.port}`), {
    mode: 0o600,
  });
  const socket = options.socket ?? join(folder, "containerd.sock");
  const stateFolder = options.stateFolder ?? join(folder, "state");
  mkdirSync(stateFolder, { recursive: true });
  const [port = 0] = await freePorts(1);
  const program = options.program?.({ kubeconfig, stateFolder });
  const agent = new AgentUnderTest(folder, port, [
    ...(program ?? [process.execPath, builtProgram("agent")]),
    `--addr=127.0.0.1:${portAt([port], 0)}`,
    ...(program ? [] : [`--socket-file=${socket}`]),
    `--kubeconfig=${kubeconfig}`,
    `--state-dir=${stateFolder}`,
  ]);
  t.teardown(async () => {
    await agent.stop();
    await gate.shut();
    await api.close();
    await sandbox.stop();
    rmSync(folder, { recursive: true, force: true });
    rights.check();
  });
  const headers = { authorization: `Bearer ${await accountToken(admin, "kruise-manager")}` };
  const credentials = fixedCredentials(sandbox.url, { headers, tls: { ca: sandbox.caCert } });
  return { api, folder, socket, stateFolder, agent, gate, credentials };
}

export async function startFake(t: Test, { socket }: NodeUnderTest): Promise<FakeCri> {
  const fake = await startFakeCri({ socket, clock: systemClock });
  t.teardown(() => fake.stop());
  return fake;
}

function unchecked(definition: object): object {
  const copy: unknown = structuredClone(definition);
  const spec = isRecord(copy) && isRecord(copy["spec"]) ? copy["spec"] : {};
  for (const version of Array.isArray(spec["versions"]) ? spec["versions"] : []) {
    if (isRecord(version))
      version["schema"] = {
        openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      };
  }
  return isRecord(copy) ? copy : {};
}

export class AgentUnderTest {
  readonly #folder: string;
  readonly #port: number;
  readonly #words: readonly string[];
  #service: Service | undefined;

  /** `words`: the whole command line. */
  constructor(folder: string, port: number, words: readonly string[]) {
    this.#folder = folder;
    this.#port = port;
    this.#words = words;
  }

  get log(): string {
    return tailOf(join(this.#folder, "agent.log"), 200);
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number {
    return this.#service?.pid ?? 0;
  }

  exitCode(): number | undefined {
    return this.#service?.exitCode();
  }

  /** Resolves when it answers; ready or not. */
  async start(...flags: readonly string[]): Promise<void> {
    this.launch(flags);
    await eventually("the agent answers", async () => (await this.get("/healthz")).status === 200);
  }

  /** Starts the process and waits for nothing. */
  launch(flags: readonly string[], environment: Record<string, string> = { NODE_NAME: node }): void {
    const [command = "", ...words] = this.#words;
    this.#service = startService("agent", command, [...words, ...flags], {
      logFolder: this.#folder,
      workingFolder: root,
      environment: { ...agentEnvironment, ...environment },
    });
  }

  async get(path: string): Promise<{ status: number; text: string }> {
    const answer = await request(`http://127.0.0.1:${this.#port}${path}`);
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  async ready(): Promise<void> {
    await eventually("the agent is ready", async () => (await this.get("/readyz")).status === 200);
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    this.#service?.kill("SIGKILL");
    await this.#service?.stop();
  }

  async stop(): Promise<void> {
    await this.#service?.stop();
  }
}

export interface Gate {
  readonly port: number;
  /** Cuts all connections and refuses new ones. */
  shut(): Promise<void>;
  open(): Promise<void>;
}

async function openGate(target: number): Promise<Gate> {
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  const listen = async (port: number): Promise<number> => {
    const made = createServer((client) => {
      const behind = dial(target, "127.0.0.1");
      for (const [from, to] of [
        [client, behind],
        [behind, client],
      ] as const) {
        sockets.add(from);
        from.pipe(to);
        from.on("error", () => to.destroy());
        from.on("close", () => {
          sockets.delete(from);
          to.destroy();
        });
      }
    });
    await new Promise<void>((resolve) => made.listen(port, "127.0.0.1", resolve));
    server = made;
    const address = made.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  };
  const port = await listen(0);
  return {
    port,
    async shut() {
      const closed = server;
      server = undefined;
      for (const socket of sockets) socket.destroy();
      if (closed) await new Promise((resolve) => closed.close(resolve));
    },
    open: async () => void (await listen(port)),
  };
}

/** Looks until it is so; the test's own limit ends it otherwise. */
export async function eventually(what: string, look: () => Promise<boolean>): Promise<void> {
  const patience = new Patience(60_000);
  let last = "";
  while (!patience.isOver) {
    try {
      if (await look()) return;
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    await sleep(20);
  }
  throw new Error(`not within ${patience}: ${what} ${last}`);
}

export function pullTask(tag: string, more: object = {}): object {
  return {
    tag,
    version: 0,
    createdAt: new Date().toISOString().replace(/\.\d+/, ""),
    imagePullPolicy: "Always",
    pullPolicy: { timeoutSeconds: 60, backoffLimit: 0, ttlSecondsAfterFinished: 600 },
    ...more,
  };
}

/** Creates the node's NodeImage or replaces its images. */
export async function wantImages(api: Api, images: object): Promise<void> {
  if ((await api.find(nodeImages, node)) === undefined) {
    await api.create({
      apiVersion: "apps.kruise.io/v1beta1",
      kind: "NodeImage",
      metadata: { name: node },
      spec: { images },
    });
  } else
    await api.patch(nodeImages, node, undefined, "json", [
      { op: "replace", path: "/spec/images", value: images },
    ]);
}

export interface TagStatus {
  readonly phase: string;
  readonly message: string;
  readonly imageID: string;
}

export async function tagStatus(api: Api, image: string, tag: string): Promise<TagStatus | undefined> {
  const { status } = await api.get(nodeImages, node);
  const images = isRecord(status) && isRecord(status["imageStatuses"]) ? status["imageStatuses"] : {};
  const entry = images[image];
  const tags = isRecord(entry) && Array.isArray(entry["tags"]) ? entry["tags"] : [];
  const found: unknown = tags.find((one) => isRecord(one) && one["tag"] === tag);
  if (!isRecord(found)) return undefined;
  const text = (name: string): string => String(found[name] ?? "");
  return { phase: text("phase"), message: text("message"), imageID: text("imageID") };
}

export async function reached(api: Api, image: string, tag: string, phase: string): Promise<void> {
  await eventually(
    `${image}:${tag} ${phase}`,
    async () => (await tagStatus(api, image, tag))?.phase === phase,
  );
}

export function readText(path: string): string {
  return readFileSync(path, "utf8");
}

export type { Item };
