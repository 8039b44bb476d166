/**
 * The controller process: endpoints, webhooks, leader election, controllers, started and stopped in this order.
 * Spec: platform 4.1. The command `controller` and the try-out run the same.
 */
import {
  type Admission,
  admission,
  type Controllers,
  SharedWatches,
  startControllers,
  wholeCluster,
} from "../../controller/index.ts";
import {
  type Client,
  type Clock,
  checksRoute,
  type Election,
  type Fence,
  type HttpEndpoints,
  type Log,
  metricsRoute,
  metricsText,
  parseAddress,
  type Random,
  type Route,
  type Routes,
  serverVersion,
  startHttpEndpoints,
  startShardedElection,
} from "../../kube/index.ts";
import { CliError, describeError } from "../errors.ts";
import { debugRoutes } from "./debug_routes.ts";
import { listenError } from "./listen_error.ts";
import { type Observed, observe } from "./metrics.ts";
import { refusalRecorder } from "./refusals.ts";
import type { ProcessSettings } from "./settings.ts";
import type { Verbosity } from "./verbosity.ts";

/** Writes in flight may end for so long before a shard goes to another replica; less than a lease lasts unrenewed. */
const HANDOVER_GRACE_MS = 2_000;
/**
 * API servers dial a replica behind a Service until they have heard that it is ending: so long it goes on answering webhooks.
 * Less than its pod's grace (cli/install/controller_deployment.ts).
 */
const SERVICE_DRAIN_MS = 3_000;

export interface ControllerProcessDeps {
  readonly client: Client;
  /**
   * What webhooks ask the API server through. Not the controllers' client: their writes wait for webhooks, and webhooks
   * that waited behind them for a place in its window would never be answered.
   */
  readonly admissionClient: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly settings: ProcessSettings;
  /** Of the log; the debug endpoint changes it. */
  readonly verbosity: Verbosity;
  /** Of this replica, for the lease. */
  readonly identity: string;
  /** Of `client`; absent where no other replica waits for its lease. */
  readonly fence?: Fence;
  /** Where requests were counted already. */
  readonly observed?: Observed;
}

export interface ControllerProcess {
  /** Resolves when this replica reconciles for the first time. */
  readonly working: Promise<void>;
  /** Rejects when the process cannot go on: the controllers did not start. Never resolves. */
  readonly failed: Promise<never>;
  /** Lets writes in flight finish, gives the lease back, stops answering. */
  stop(): Promise<void>;
}

/** Resolves when webhooks are answered and the replica stands for election. Throws CliError with one clear line. */
export async function startControllerProcess(deps: ControllerProcessDeps): Promise<ControllerProcess> {
  const started = new StartedProcess(deps);
  try {
    await started.run();
    return started;
  } catch (error) {
    await started.stop();
    throw error;
  }
}

class StartedProcess implements ControllerProcess {
  readonly #works = Promise.withResolvers<void>();
  readonly #fails = Promise.withResolvers<never>();
  readonly working = this.#works.promise;
  readonly failed = this.#fails.promise;
  readonly #deps: ControllerProcessDeps;
  readonly #observed: Observed;
  readonly #watches: SharedWatches;
  readonly #endpoints: HttpEndpoints[] = [];
  #admission: Admission | undefined;
  #election: Pick<Election, "stop"> | undefined;
  /** By shard. */
  readonly #controllers = new Map<number, Controllers>();
  #isStarted = false;
  /** Webhooks are answered. */
  #isReady = false;
  readonly #stopping = new AbortController();
  #refused: ReturnType<typeof refusalRecorder> = () => undefined;

  constructor(deps: ControllerProcessDeps) {
    this.#deps = deps;
    this.#observed = deps.observed ?? observe();
    this.#watches = new SharedWatches(this.#observed.metrics);
    // Who starts a process decides when to listen; until then a failure must not end it unheard.
    this.failed.catch(() => undefined);
  }

  async run(): Promise<void> {
    const { client, admissionClient, clock, random, log, settings } = this.#deps;
    const { metrics } = this.#observed;
    const { gitVersion } = await serverVersion(client);
    this.#isStarted = true;
    log.info("starting", { server: gitVersion });
    this.#refused = refusalRecorder(this.#observed.registry, log, settings.audit);
    this.#admission = admission({
      client: admissionClient,
      clock,
      random,
      log: log.with({ part: "admission" }),
      options: settings.controller,
      settings: settings.webhook,
      allowPrivileged: settings.allowPrivileged,
      leads: !settings.leader.enabled,
      watches: this.#watches,
      refused: this.#refused,
      podStepTook: metrics.podAdmissionStep,
      metrics: {
        review(path, code, tookMs) {
          metrics.webhookStarted(path);
          metrics.webhookFinished(path, code, tookMs);
        },
        failed: () => metrics.unexpectedError("admission"),
      },
    });
    await this.#serveEndpoints();
    await this.#startAdmission(this.#admission);
    if (!settings.leader.enabled) this.#startControllers();
    else this.#standForElection();
  }

  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort();
    const { log } = this.#deps;
    if (this.#isStarted) log.info("stopping");
    await Promise.all([...this.#controllers.values()].map((controllers) => controllers.stop()));
    await this.#election?.stop();
    if (this.#isReady && this.#deps.settings.webhook.host === undefined)
      await this.#deps.clock.sleep(SERVICE_DRAIN_MS);
    await this.#admission?.stop();
    await Promise.all(this.#endpoints.map((endpoint) => endpoint.close()));
    if (this.#isStarted) log.info("stopped");
  }

  async #serveEndpoints(): Promise<void> {
    const { metrics, health, debug } = this.#deps.settings;
    const ready = checksRoute("readyz", { "webhook-ready": () => this.#webhookReady() });
    const alive: Route = async () => ({ status: 200, contentType: "text/plain; charset=utf-8", body: "ok" });
    const metricsRoutes = { "/metrics": this.#metricsRoute() };
    if (metrics !== undefined) await this.#listen(metrics, metricsRoutes, "--metrics-addr");
    if (health !== undefined)
      await this.#listen(health, { "/readyz": ready, "/healthz": alive }, "--health-probe-addr");
    if (debug !== undefined) {
      const { verbosity, clock, log } = this.#deps;
      const routes = debugRoutes({ verbosity, clock, log, signal: this.#stopping.signal });
      await this.#listen(debug, routes, "--pprof-addr");
    }
  }

  /** Workloads are told of by the replica that reconciles them: each once, though all replicas are scraped. */
  #metricsRoute(): Route {
    const { registry } = this.#observed;
    if (!this.#deps.settings.workloadMetrics) return metricsRoute(registry);
    const families = () => [...this.#controllers.values()].flatMap((shard) => shard.objectFamilies());
    const metrics = async () => `${await registry.metrics()}\n${metricsText(families())}`;
    return metricsRoute({ contentType: registry.contentType, metrics });
  }

  async #listen(address: string, routes: Routes, flag: string): Promise<void> {
    const { log } = this.#deps;
    const { metrics } = this.#observed;
    try {
      this.#endpoints.push(await startHttpEndpoints({ address, routes, log, metrics }));
    } catch (error) {
      const { host, port } = parseAddress(address);
      throw listenError(`${host ?? "*"}:${port}`, flag, error);
    }
  }

  async #webhookReady(): Promise<void> {
    if (this.#stopping.signal.aborted) throw new Error("this replica is ending");
    const problem = await this.#admission?.ready();
    if (problem !== undefined) throw new Error(problem);
  }

  async #startAdmission(started: Admission): Promise<void> {
    const { settings, log } = this.#deps;
    const { port, listenHost = "*" } = settings.webhook;
    try {
      const listening = await started.start(settings.webhookTimeoutMs);
      this.#isReady = true;
      log.info("webhooks are answered", { port: listening.port });
    } catch (error) {
      if (error instanceof Error && "syscall" in error)
        throw listenError(`${listenHost}:${port}`, "WEBHOOK_PORT", error);
      throw new CliError(`webhooks could not be set up: ${describeError(error).replace(/^error: /, "")}`, {
        cause: error,
      });
    }
  }

  /**
   * Each replica reconciles the shards whose leases it holds; without sharding there is one. Who loses a lease stands for
   * election again: an API server that is slow for some seconds must not end the replicas that answer webhooks.
   */
  #standForElection(): void {
    const { client, clock, random, log, settings, identity, fence } = this.#deps;
    const { enabled: _, ...lease } = settings.leader;
    this.#election = startShardedElection({
      client,
      clock,
      random,
      log,
      identity,
      fence,
      ...lease,
      onStarted: (index) => {
        this.#observed.metrics.leader(true);
        if (index === 0) this.#admission?.lead(true);
        this.#startControllers({ index, count: lease.shards });
      },
      onLost: async (index, leftMs) => {
        const controllers = this.#controllers.get(index);
        this.#controllers.delete(index);
        this.#observed.metrics.leader(this.#controllers.size > 0);
        if (index === 0) this.#admission?.lead(false);
        await controllers?.stop(Math.min(HANDOVER_GRACE_MS, leftMs));
      },
    });
  }

  #startControllers(shard = wholeCluster): void {
    // A lease may be won while what was led is being ended; it is given back at once.
    if (this.#stopping.signal.aborted) return;
    const { client, clock, random, settings } = this.#deps;
    const log = shard.count === 1 ? this.#deps.log : this.#deps.log.with({ shard: shard.index });
    const { metrics } = this.#observed;
    const controllers = startControllers({
      refused: this.#refused,
      client,
      clock,
      random,
      log,
      metrics,
      options: settings.controller,
      shard,
      watches: this.#watches,
    });
    this.#controllers.set(shard.index, controllers);
    const late = clock.after(settings.cacheSyncTimeoutMs, () =>
      this.#fails.reject(
        new CliError(
          `caches were not filled within ${settings.cacheSyncTimeoutMs / 1000} s (--controller-cache-sync-timeout)`,
        ),
      ),
    );
    controllers.synced.then(
      () => {
        late.cancel();
        if (this.#controllers.get(shard.index) !== controllers) return;
        log.info("controllers work");
        this.#works.resolve();
      },
      (error: unknown) => {
        late.cancel();
        // A shard that was lost while its caches were being filled is another replica's business.
        if (this.#controllers.get(shard.index) === controllers) this.#fails.reject(error);
      },
    );
  }
}
