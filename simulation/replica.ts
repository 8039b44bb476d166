/** One life of a replica of the controller: from its start until it is killed. */
import {
  admissionHandlers,
  type Controllers,
  controllerOptions,
  decodeReview,
  encodeReview,
  parseFeatureGates,
  SharedWatches,
  startControllers,
} from "../controller/index.ts";
import {
  type Client,
  type Election,
  Fence,
  type LogLevel,
  logTo,
  messageOf,
  nullMetrics,
  type Random,
  startShardedElection,
} from "../kube/index.ts";
import type { ApiServer } from "../sandbox/index.ts";
import { inProcessClient } from "./network.ts";
import { ProcessClock, type VirtualClock } from "./virtual_clock.ts";
import type { Reviewer } from "./webhooks.ts";

export const systemNamespace = "kruise-system";
/** Without them two kinds are refused, updates ask no budget, and no claim grows. */
const gates =
  "ImagePullJobGate=true,ResourceDistributionGate=true,PodUnavailableBudgetUpdateGate=true,StatefulSetAutoResizePVCGate=true";
/** Of the account that a controller runs as. */
const account = `system:serviceaccount:${systemNamespace}:kruise-manager`;

export interface ReplicaOptions {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly server: ApiServer;
  readonly number: number;
  /** From 1. */
  readonly life: number;
  readonly shards: number;
  readonly log: (replica: string, level: LogLevel, message: string, fields: Record<string, unknown>) => void;
  readonly refused: (replica: string, method: string, path: string) => void;
  /** A mistake of ours that was contained. */
  readonly unexpected: (replica: string, where: string) => void;
}

export class Replica implements Reviewer {
  readonly number: number;
  /** Of this life; what it writes is known by it. */
  readonly userAgent: string;
  readonly clock: ProcessClock;
  readonly #options: ReplicaOptions;
  readonly #handlers: ReturnType<typeof admissionHandlers>;
  readonly #controllers = new Map<number, Controllers>();
  readonly #clients: Client[] = [];
  #serves = false;
  #isDead = false;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    const { random, number, life, log: write, unexpected, shards } = options;
    this.number = number;
    this.userAgent = `replica-${number}.${life}/`;
    this.clock = new ProcessClock(options.clock);
    const { clock } = this;
    const log = logTo((level, message, fields) => write(this.userAgent, level, message, fields));
    const metrics = { ...nullMetrics, unexpectedError: (where: string) => unexpected(this.userAgent, where) };
    const watches = new SharedWatches(metrics);
    const fence = new Fence();
    const client = this.#client(fence);
    const settings = controllerOptions({ gates: parseFeatureGates(gates), nodeImageCreationDelayMs: 1_000 });
    this.#handlers = admissionHandlers({
      client: this.#client(),
      clock,
      random,
      log,
      options: settings,
      settings: { namespace: systemNamespace },
      allowPrivileged: true,
      watches,
      podStepTook: () => undefined,
      refused: () => undefined,
    });
    const lead = (index: number): void => {
      const controllers = startControllers({
        client,
        clock,
        random,
        log,
        metrics,
        options: settings,
        shard: { index, count: shards },
        watches,
      });
      this.#controllers.set(index, controllers);
      controllers.synced.catch((error: unknown) => log.warn("controllers did not start", { error }));
    };
    const stand = (): Pick<Election, "stop"> =>
      startShardedElection({
        client,
        clock,
        random,
        log,
        identity: this.userAgent,
        namespace: systemNamespace,
        name: "kruise-manager",
        shards,
        onStarted: lead,
        fence,
        onLost: async (index, leftMs) => {
          const controllers = this.#controllers.get(index);
          this.#controllers.delete(index);
          await controllers?.stop(Math.min(2_000, leftMs));
        },
      });
    this.#handlers.synced().then(
      () => {
        this.#serves = true;
        stand();
      },
      (error: unknown) => log.error("admission did not start", { error }),
    );
  }

  get serves(): boolean {
    return this.#serves && !this.#isDead && !this.clock.isStopped;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get paths(): ReadonlySet<string> {
    return new Set(this.#handlers.handlers.keys());
  }

  async review(path: string, body: Buffer): Promise<Buffer> {
    await this.clock.running();
    const review = decodeReview(body);
    if (typeof review === "string") throw new Error(review);
    const { apiVersion, request } = review;
    const handler = this.#handlers.handlers.get(path);
    if (handler === undefined) throw new Error(`nothing answers ${path}`);
    const answer = await Promise.resolve(handler(request)).catch((error: unknown) => ({
      allowed: false as const,
      code: 500,
      message: messageOf(error),
    }));
    await this.clock.running();
    if (this.#isDead) return new Promise(() => undefined);
    return encodeReview(apiVersion, request.uid, answer);
  }

  /** As by SIGKILL: its connections are gone at once, what it has sent arrives. */
  die(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.clock.die();
    for (const watch of this.#options.server.faults.watches({ userAgent: this.userAgent })) watch.drop();
  }

  /** When nobody looks any more. The runtime keeps what listens to combined signals, so also the dead have to hang up. */
  async hangUp(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  #client(fence?: Fence): Client {
    const { random, server, refused } = this.#options;
    const client = inProcessClient({
      wire: this.#options.clock,
      process: this.clock,
      refused: (method, path) => refused(this.userAgent, method, path),
      random,
      server,
      userAgent: this.userAgent,
      account,
      fence,
    });
    this.#clients.push(client);
    return client;
  }
}
