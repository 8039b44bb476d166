/** The agents of all nodes, in all their lives, and the disks and runtimes that outlive them. */
import type { LogLevel, Random } from "../kube/index.ts";
import type { ApiServer } from "../sandbox/index.ts";
import { Agent } from "./agent.ts";
import { Disk } from "./disk.ts";
import type { AgentEvent, ObservedAgents } from "./observer/observed.ts";
import { RuntimeSocket } from "./runtime_socket.ts";
import type { VirtualClock } from "./virtual_clock.ts";

interface AgentsOptions {
  readonly clock: VirtualClock;
  readonly server: ApiServer;
  readonly chance: () => Random;
  readonly log: (agent: string, level: LogLevel, message: string, fields: Record<string, unknown>) => void;
  readonly unexpected: (agent: string, where: string) => void;
}

export class Agents implements ObservedAgents {
  readonly #options: AgentsOptions;
  readonly #disks = new Map<string, Disk>();
  readonly #runtimes = new Map<string, RuntimeSocket>();
  readonly #living = new Map<string, Agent>();
  /** Those that died, too. */
  readonly #lived: Agent[] = [];
  readonly #listeners: ((event: AgentEvent) => void)[] = [];

  constructor(options: AgentsOptions) {
    this.#options = options;
    for (const { metadata } of options.server.cluster.list("nodes")) this.start(metadata.name ?? "");
  }

  /** Starts the agent of a node unless it lives, or its node does not. */
  start(node: string): void {
    const { clock, server, chance } = this.#options;
    const runtime = this.runtime(node);
    if (this.#living.has(node) || runtime === undefined || server.nodes?.silentSince(node) !== undefined)
      return;
    const life = this.#lived.filter((agent) => agent.node === node).length + 1;
    const agent = new Agent({
      ...this.#options,
      clock,
      random: chance(),
      disk: this.disk(node),
      node,
      runtime,
      life,
      happened: (event) => {
        for (const listener of this.#listeners) listener(event);
      },
    });
    this.#living.set(node, agent);
    this.#lived.push(agent);
  }

  kill(node: string): void {
    this.#living.get(node)?.die();
    this.#living.delete(node);
  }

  /** Undefined where there is no such node. */
  runtime(node: string): RuntimeSocket | undefined {
    const { clock, server, chance } = this.#options;
    const found = server.nodes?.runtime(node);
    const runtime = this.#runtimes.get(node) ?? (found && new RuntimeSocket(found, clock, chance));
    if (runtime !== undefined) this.#runtimes.set(node, runtime);
    return runtime;
  }

  disk(node: string): Disk {
    const disk = this.#disks.get(node) ?? new Disk(this.#options.clock, this.#options.chance());
    this.#disks.set(node, disk);
    return disk;
  }

  damagedAt(node: string): number {
    return this.disk(node).damagedAt;
  }

  troubledAt(node: string): number {
    return this.#runtimes.get(node)?.troubledAt ?? Number.NEGATIVE_INFINITY;
  }

  subscribe(listener: (event: AgentEvent) => void): void {
    this.#listeners.push(listener);
  }

  die(): void {
    for (const node of [...this.#living.keys()]) this.kill(node);
  }

  /** When nobody looks any more. */
  async hangUp(): Promise<void> {
    await Promise.all(this.#lived.map((agent) => agent.hangUp()));
  }
}
