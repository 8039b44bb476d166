/** A whole cluster in one process, on one virtual clock and from one seed. */
import { admissionWebhooks, webhookConfigurations } from "../controller/index.ts";
import { customResourceDefinition, kinds } from "../crds/index.ts";
import { type LogLevel, type Random, seededRandom } from "../kube/index.ts";
import {
  type ApiServer,
  askInProcess,
  type StoredObject,
  startApiServer,
  type User,
} from "../sandbox/index.ts";
import { Agents } from "./agents.ts";
import { Replica, systemNamespace } from "./replica.ts";
import { VirtualClock } from "./virtual_clock.ts";
import { inProcessWebhooks } from "./webhooks.ts";

/** 2026-01-05, a Monday. */
const startMs = Date.UTC(2026, 0, 5);

const person: User = { username: "user", groups: ["system:masters", "system:authenticated"] };

export interface ClusterOptions {
  readonly seed: number;
  readonly replicas: number;
  readonly shards: number;
  readonly nodes: number;
  /** Events of each resource that the server remembers for watches. Default: 2,000. */
  readonly history?: number;
  readonly namespaces: readonly string[];
  /** Agents of nodes pull images and restart containers by their own code, with their files; else the sandbox does. */
  readonly agents?: boolean;
  readonly log: (replica: string, level: LogLevel, message: string, fields: Record<string, unknown>) => void;
  /** A request of a replica was refused, or got no answer. */
  readonly refused: (replica: string, method: string, path: string) => void;
  readonly unexpected: (replica: string, where: string) => void;
}

/** What the server answered. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export class SimulatedCluster {
  readonly clock = new VirtualClock(startMs);
  readonly server: ApiServer;
  readonly agents: Agents | undefined;
  readonly #options: ClusterOptions;
  readonly #randoms: Random;
  readonly #replicas: Replica[] = [];
  #diedWrongAt = Number.NEGATIVE_INFINITY;
  /** Those that died, too. */
  readonly #lived: Replica[] = [];
  readonly #lives = new Map<number, number>();

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.#randoms = seededRandom(options.seed);
    const { clock } = this;
    const random = this.chance();
    this.server = startApiServer({
      seed: options.seed,
      clock,
      random: this.chance(),
      authority: "",
      nodes: options.nodes,
      agent: true,
      agentActs: options.agents !== true,
      profile: "real",
      crds: kinds.map((kind) => customResourceDefinition(kind)),
      historyLimit: options.history ?? 2_000,
      soon: (run) => void clock.after(0, run),
      webhooks: (faults) => inProcessWebhooks({ clock, random, faults, reviewers: () => this.#replicas }),
    });
    const { cluster } = this.server;
    for (const name of [systemNamespace, ...options.namespaces])
      cluster.create("namespaces", { metadata: { name } });
    for (let number = 0; number < options.replicas; number++) this.start(number);
    this.#pointToWebhooks();
    if (options.agents === true)
      this.agents = new Agents({ ...options, clock, server: this.server, chance: () => this.chance() });
  }

  /** A source of chance of its own: what one part draws does not change what another does. */
  chance(): Random {
    return seededRandom(Math.floor(this.#randoms() * 2 ** 32));
  }

  /** Replicas that live. */
  get replicas(): readonly Replica[] {
    return this.#replicas;
  }

  get diedWrongAt(): number {
    return this.#diedWrongAt;
  }

  /** Starts a replica unless it lives. */
  start(number: number): void {
    if (this.#replicas.some((replica) => replica.number === number)) return;
    const life = (this.#lives.get(number) ?? 0) + 1;
    this.#lives.set(number, life);
    const { shards, log, refused, unexpected } = this.#options;
    const replica = new Replica({
      clock: this.clock,
      random: this.chance(),
      server: this.server,
      number,
      life,
      shards,
      log,
      refused,
      unexpected,
    });
    this.#replicas.push(replica);
    this.#lived.push(replica);
  }

  kill(number: number): void {
    const at = this.#replicas.findIndex((replica) => replica.number === number);
    const [replica] = at < 0 ? [] : this.#replicas.splice(at, 1);
    if (replica !== undefined && replica.clock.now() !== this.clock.now())
      this.#diedWrongAt = this.clock.now();
    replica?.die();
  }

  /** A person's request, past the network and its faults; it is admitted as any other. */
  ask(method: string, path: string, body?: object, contentType = "application/json"): Promise<Answer> {
    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      let status = 0;
      askInProcess(
        this.server.routes,
        {
          method,
          path,
          headers: { "user-agent": "person", "content-type": contentType, accept: "application/json" },
          body: Buffer.from(body === undefined ? "" : JSON.stringify(body)),
          user: person,
        },
        {
          head: (code) => {
            status = code;
          },
          data: (chunk) => chunks.push(chunk),
          end: () => resolve({ status, body: parsed(Buffer.concat(chunks).toString()) }),
          broken: () => resolve({ status: 0, body: undefined }),
        },
      );
    });
  }

  objects(resource: string, namespace?: string): StoredObject[] {
    return [...this.server.cluster.list(resource, namespace)];
  }

  async stop(): Promise<void> {
    for (const replica of this.#replicas.splice(0)) replica.die();
    this.agents?.die();
    await this.server.stop();
    await Promise.all(this.#lived.map((replica) => replica.hangUp()));
    await this.agents?.hangUp();
  }

  #pointToWebhooks(): void {
    const paths = this.#replicas[0]?.paths ?? new Set();
    const { mutating, validating } = webhookConfigurations({
      webhooks: admissionWebhooks.filter(({ path }) => paths.has(path)),
      namespace: systemNamespace,
      service: "kruise-webhook-service",
      caBundle: "",
    });
    const { cluster } = this.server;
    const group = "admissionregistration.k8s.io";
    cluster.create(`mutatingwebhookconfigurations.${group}`, { ...mutating });
    cluster.create(`validatingwebhookconfigurations.${group}`, { ...validating });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
