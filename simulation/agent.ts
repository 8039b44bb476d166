/**
 * One life of a node's agent, from its start until it is killed: its images and its recreate requests, by its own code and with its
 * files. What else an agent does the sandbox does.
 */
import {
  type AgentContext,
  agentSettings,
  ContainerRestarter,
  createStateStore,
  PodWatch,
  type RuntimeFinder,
  startImages,
  startRestarts,
  startRuntimeFinder,
} from "../agent/index.ts";
import {
  type Client,
  createEvents,
  type Log,
  type LogLevel,
  logTo,
  messageOf,
  nullMetrics,
  type Random,
} from "../kube/index.ts";
import type { ApiServer } from "../sandbox/index.ts";
import type { Disk } from "./disk.ts";
import { inProcessClient } from "./network.ts";
import type { AgentEvent } from "./observer/observed.ts";
import { runtimeName } from "./runtime.ts";
import { type RuntimeSocket, socketPath } from "./runtime_socket.ts";
import { ProcessClock, type VirtualClock } from "./virtual_clock.ts";

const account = "system:serviceaccount:kruise-system:kruise-daemon";

export interface AgentOptions {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly server: ApiServer;
  readonly disk: Disk;
  readonly node: string;
  readonly runtime: RuntimeSocket;
  /** From 1. */
  readonly life: number;
  readonly log: (agent: string, level: LogLevel, message: string, fields: Record<string, unknown>) => void;
  /** A mistake of ours that was contained. */
  readonly unexpected: (agent: string, where: string) => void;
  readonly happened: (event: AgentEvent) => void;
}

export class Agent {
  readonly node: string;
  readonly #options: AgentOptions;
  readonly #userAgent: string;
  readonly #clock: ProcessClock;
  readonly #client: Client;
  readonly #finder: RuntimeFinder;
  /** Nothing that it read was refused. */
  #hears = true;
  #isDead = false;

  constructor(options: AgentOptions) {
    this.#options = options;
    const { node, life, server, random, unexpected } = options;
    this.node = node;
    this.#userAgent = `agent-${node}.${life}/`;
    this.#clock = new ProcessClock(options.clock);
    this.#client = inProcessClient({
      wire: options.clock,
      process: this.#clock,
      refused: (method) => {
        if (method !== "GET" || !this.#hears) return;
        this.#hears = false;
        options.happened({ type: "refused", node, hears: false });
      },
      random,
      server,
      userAgent: this.#userAgent,
      account,
    });
    this.#finder = this.#startFinder();
    const context = this.#context();
    const started = Promise.all([startImages(context, { logins: async () => [] }), startRestarts(context)]);
    started.catch((error: unknown) => {
      context.log.error("the agent did not start", { error: messageOf(error) });
      unexpected(this.#userAgent, "its start");
    });
  }

  /** As by SIGKILL: what it has sent arrives, what it was writing to its disk stays half done. */
  die(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#clock.die();
    for (const watch of this.#options.server.faults.watches({ userAgent: this.#userAgent })) watch.drop();
    this.#options.happened({ type: "died", node: this.node, hears: this.#hears });
  }

  /** Its search for a runtime, too, would be held for good: Node keeps signals that are listened to. */
  async hangUp(): Promise<void> {
    await Promise.all([this.#client.close(), this.#finder.stop()]);
  }

  #startFinder(): RuntimeFinder {
    const { random, disk, node, runtime, happened } = this.#options;
    const clock = this.#clock;
    return startRuntimeFinder({
      clock,
      log: this.#log().with({ component: "runtime" }),
      settings: { socketFile: socketPath, roots: [] },
      kubeletRuntime: async () => `${runtimeName}://1`,
      sockets: runtime.sockets({
        clock,
        random,
        stops: () => disk.step(),
        pulls: (type, reference) => happened({ type, node, reference, hears: this.#hears }),
      }),
    });
  }

  #log(): Log {
    const { log } = this.#options;
    return logTo((level, message, fields) => log(this.#userAgent, level, message, fields));
  }

  #context(): Omit<AgentContext, "probes"> {
    const { random, disk, node, unexpected } = this.#options;
    const clock = this.#clock;
    const log = this.#log();
    const metrics = {
      ...nullMetrics,
      unexpectedError: (where: string) => unexpected(this.#userAgent, where),
    };
    const shared = { client: this.#client, clock, random, log, metrics };
    const agentMetrics = {
      criCall: () => undefined,
      pulled: () => undefined,
      killed: () => undefined,
      probed: () => undefined,
      runtime: () => undefined,
    };
    // The kubelet starts again what it has stopped.
    const settings = agentSettings(["--restart-containers-by=kubelet"], { NODE_NAME: node }, () => false);
    const pods = new PodWatch({ ...shared, nodeName: node, enabled: true });
    const events = createEvents({ ...shared, host: node });
    return {
      ...shared,
      agentMetrics,
      settings,
      events,
      pods,
      finder: this.#finder,
      state: createStateStore(disk.files(clock), log),
      restarter: new ContainerRestarter({
        ...shared,
        agentMetrics,
        events,
        pods,
        startedBy: settings.startedBy,
        kubeletVersion: async () => undefined,
      }),
    };
  }
}
