/**
 * The node agent on the nodes of a test cluster: a process for each, with the rights of the agent's service account and
 * no others, so that a right that is missing from the installation fails here.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { request } from "undici";
import { agentEnvironment, agentProgram, denoPermissions } from "../../agent/index.ts";
import { freePorts, portAt } from "../../testkit/cli/free_ports.ts";
import { accountKubeconfig } from "../../testkit/kube/account_fixture.ts";
import { builtProgram } from "../built.ts";
import { type Service, startService, untilReady } from "./processes.ts";

/** What the built agent runs on: one of the two everywhere, or both in turn over the nodes. */
export type AgentRuntime = "node" | "deno" | "mixed";
export const agentRuntimes: readonly AgentRuntime[] = ["node", "deno", "mixed"];

/** Where an agent is to run. */
export interface AgentPlace {
  readonly name: string;
  /** Scratch of the node; the agent's state and log go below it. */
  readonly folder: string;
  readonly socket: string;
}

export interface AgentProcess {
  readonly node: string;
  /** Of the node's container runtime. */
  readonly socket: string;
  readonly stateFolder: string;
  readonly logFile: string;
  readonly pid: number;
  /** Undefined while it runs. */
  exitCode(): number | undefined;
  /** Ends it without a chance to tidy up. */
  kill(): Promise<void>;
  stop(): Promise<void>;
  /** Starts it again, with these flags instead of the given ones, and resolves when it is ready. State stays. */
  start(flags?: readonly string[]): Promise<void>;
  /** The text of its metrics endpoint. */
  metrics(): Promise<string>;
}

const root = new URL("../../", import.meta.url).pathname;

export interface AgentOptions {
  /** Of the cluster's administrator. */
  readonly kubeconfig: string;
  readonly runtime: AgentRuntime;
  /** Further flags of the agents, for example `--direct-swap`. */
  readonly flags: readonly string[];
}

/** One ready agent on each place; `refit install` must have been run. */
export async function startAgents(
  places: readonly AgentPlace[],
  options: AgentOptions,
): Promise<AgentProcess[]> {
  const config = await accountKubeconfig(options.kubeconfig, "kruise-daemon");
  const ports = await freePorts(places.length);
  const agents = places.map((place, index) => {
    const folder = join(place.folder, "agent");
    mkdirSync(folder, { recursive: true });
    const kubeconfig = join(folder, "kubeconfig");
    writeFileSync(kubeconfig, config, { mode: 0o600 });
    const runtime = options.runtime === "mixed" ? (index % 2 === 0 ? "node" : "deno") : options.runtime;
    return new NodeAgent(place, folder, kubeconfig, portAt(ports, index), runtime, options.flags);
  });
  try {
    await Promise.all(agents.map((agent) => agent.start()));
  } catch (error) {
    await Promise.all(agents.map((agent) => agent.stop()));
    throw error;
  }
  return agents;
}

class NodeAgent implements AgentProcess {
  readonly node: string;
  readonly stateFolder: string;
  readonly #folder: string;
  readonly socket: string;
  readonly #kubeconfig: string;
  readonly #port: number;
  readonly #runtime: "node" | "deno";
  readonly #flags: readonly string[];
  #service: Service | undefined;

  constructor(
    place: AgentPlace,
    folder: string,
    kubeconfig: string,
    port: number,
    runtime: "node" | "deno",
    flags: readonly string[],
  ) {
    this.node = place.name;
    this.#folder = folder;
    this.stateFolder = join(folder, "state");
    this.socket = place.socket;
    this.#kubeconfig = kubeconfig;
    this.#port = port;
    this.#runtime = runtime;
    this.#flags = flags;
  }

  get logFile(): string {
    return join(this.#folder, "agent.log");
  }

  get pid(): number {
    return this.#service?.pid ?? 0;
  }

  exitCode(): number | undefined {
    return this.#service?.exitCode();
  }

  async start(flags: readonly string[] = this.#flags): Promise<void> {
    mkdirSync(this.stateFolder, { recursive: true });
    const [command = "", ...before] = this.#command();
    const service = startService(
      "agent",
      command,
      [
        ...before,
        `--addr=127.0.0.1:${this.#port}`,
        `--socket-file=${this.socket}`,
        `--kubeconfig=${this.#kubeconfig}`,
        `--state-dir=${this.stateFolder}`,
        ...flags,
      ],
      {
        logFolder: this.#folder,
        workingFolder: root,
        environment: { ...agentEnvironment, NODE_NAME: this.node },
      },
    );
    this.#service = service;
    await untilReady(service, () => this.#ready(), 60_000);
  }

  async kill(): Promise<void> {
    this.#service?.kill("SIGKILL");
    await this.#service?.stop();
  }

  async stop(): Promise<void> {
    await this.#service?.stop();
  }

  async metrics(): Promise<string> {
    const answer = await request(`http://127.0.0.1:${this.#port}/metrics`);
    return answer.body.text();
  }

  async #ready(): Promise<boolean> {
    const answer = await request(`http://127.0.0.1:${this.#port}/readyz`);
    await answer.body.dump();
    return answer.statusCode === 200;
  }

  #command(): string[] {
    const bundle = builtProgram("agent");
    if (this.#runtime === "node") return [process.execPath, ...agentProgram("node", [], bundle).slice(1)];
    const permissions = denoPermissions({
      stateFolder: this.stateFolder,
      socketFolder: join(this.socket, ".."),
      pluginConfigFile: "/kruise/CredentialProviderPlugin.yaml",
      home: "/root",
    });
    const kubeconfig = `--allow-read=${this.#kubeconfig}`;
    const [, ...words] = agentProgram("deno", permissions.map(withFile(kubeconfig)), bundle);
    return [`${root}node_modules/.bin/deno`, ...words];
  }
}

/** Deno takes one flag of each kind: the kubeconfig joins the list of files that may be read. */
function withFile(flag: string): (permission: string) => string {
  const [name = "", file = ""] = flag.split("=");
  return (permission) => (permission.startsWith(`${name}=`) ? `${permission},${file}` : permission);
}
