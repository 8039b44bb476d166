/** Replicas of the controller, each in a network namespace of its own, and the roads to and from them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import { controllerEnvironment, controllerNodeFlags } from "../../cli/index.ts";
import { freePorts, portAt } from "../../testkit/cli/free_ports.ts";
import { accountKubeconfig } from "../../testkit/kube/account_fixture.ts";
import { builtProgram } from "../built.ts";
import { apiServiceAddress } from "../cluster/api_address.ts";
import { Patience } from "../cluster/patience.ts";
import { type Service, startService, untilReady } from "../cluster/processes.ts";
import { NetworkNamespace } from "./network.ts";
import { type Place, Relay } from "./relay.ts";

const metricsPort = 8080;
const healthPort = 8081;
/** Without it updates ask no budget. */
const gates = "PodUnavailableBudgetUpdateGate=true";
const root = new URL("../../", import.meta.url).pathname;

export interface ReplicasOptions {
  /** Of the administrator. */
  readonly kubeconfig: string;
  /** For their kubeconfigs and logs. */
  readonly folder: string;
  readonly count: number;
  /** A mistake of `simulation/mutants.ts` that they make; empty: none. */
  readonly mutant: string;
  /** Added to that of their processes. */
  readonly environment: Readonly<Record<string, string>>;
  /** Called before a life writes anything: its name, and the token that it shows the server. */
  readonly onStart: (userAgent: string, token: string) => void;
}

/** Where one replica lives after another. */
export interface Seat {
  readonly network: NetworkNamespace;
  /** From the replica to the server. */
  readonly road: Relay;
  /** Where the road leads. */
  server: Place;
}

class LivingSeat implements Seat {
  readonly network: NetworkNamespace;
  readonly road: Relay;
  readonly port: number;
  server: Place;
  lives = 0;
  isReady = false;
  service: Service | undefined;

  private constructor(network: NetworkNamespace, port: number, server: Place, road: Relay) {
    this.network = network;
    this.port = port;
    this.server = server;
    this.road = road;
  }

  static async make(number: number, port: number, server: Place): Promise<LivingSeat> {
    const network = await NetworkNamespace.make(number);
    const seats: LivingSeat[] = [];
    const road = await Relay.open({ host: apiServiceAddress, port }, () => seats[0]?.server ?? server);
    const seat = new LivingSeat(network, port, server, road);
    seats.push(seat);
    return seat;
  }

  async ask(port: number, path: string): Promise<string> {
    const url = `http://${this.network.address}:${port}${path}`;
    const answer = await request(url, { signal: AbortSignal.timeout(2_000) });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}: ${text}`);
    return text;
  }

  async remove(): Promise<void> {
    await this.service?.stop();
    await this.road.close();
    await this.network.remove();
  }
}

export class Replicas {
  readonly #options: ReplicasOptions;
  readonly #seats: LivingSeat[] = [];
  readonly #over = new AbortController();
  #webhooks: Relay | undefined;
  #webhookPort = 0;
  #reviews = 0;

  constructor(options: ReplicasOptions) {
    this.#options = options;
  }

  /** Resolves when all of them are ready and one leads. `server`: where the API server is. */
  async start(server: Place): Promise<void> {
    const { count } = this.#options;
    const ports = await freePorts(count + 1);
    for (let number = 0; number < count; number++)
      this.#seats.push(await LivingSeat.make(number, portAt(ports, number), server));
    this.#webhookPort = portAt(ports, count);
    const place = { host: apiServiceAddress, port: this.#webhookPort };
    this.#webhooks = await Relay.open(place, () => this.#reviewer());
    void this.#probe();
    for (let number = 0; number < count; number++) await this.revive(number);
    await this.leader();
  }

  seat(number: number): Seat {
    return this.#at(number);
  }

  /** What the observer knows its present life by. */
  nameOf(number: number): string {
    return `replica-${number}.${this.#at(number).lives}/`;
  }

  /** Number of the one that leads; waits for it. */
  async leader(): Promise<number> {
    const patience = new Patience(60_000);
    while (!patience.isOver) {
      const leads = await Promise.all(this.#seats.map((seat) => isLeader(seat)));
      const leaders = leads.flatMap((does, number) => (does ? [number] : []));
      const [leader] = leaders;
      if (leader !== undefined && leaders.length === 1) return leader;
      await sleep(200);
    }
    throw new Error(`no replica leads after ${patience}, or several do`);
  }

  signal(number: number, signal: NodeJS.Signals): void {
    this.#at(number).service?.kill(signal);
  }

  /** By SIGKILL; resolves when it is gone. */
  async kill(number: number): Promise<void> {
    const seat = this.#at(number);
    seat.service?.kill("SIGKILL");
    await seat.service?.stop();
    seat.service = undefined;
  }

  /** Starts a replica unless it lives; resolves when it is ready. */
  async revive(number: number): Promise<void> {
    const seat = this.#at(number);
    if (seat.service !== undefined && seat.service.exitCode() === undefined) return;
    seat.lives += 1;
    const name = this.nameOf(number).slice(0, -1);
    const kubeconfig = await this.#kubeconfig(seat, number);
    const [program, ...words] = seat.network.command(...this.#command(kubeconfig));
    seat.service = startService(name, program, words, {
      logFolder: this.#options.folder,
      workingFolder: root,
      environment: {
        ...controllerEnvironment,
        WEBHOOK_HOST: apiServiceAddress,
        WEBHOOK_PORT: String(this.#webhookPort),
        WEBHOOK_CERT_WRITER: "secret",
        REFIT_MUTANT: this.#options.mutant,
        ...this.#options.environment,
      },
    });
    await untilReady(seat.service, async () => (await seat.ask(healthPort, "/readyz")) !== "", 60_000);
  }

  /** Errors that no code expected, of all that live. */
  async unexpectedErrors(): Promise<string[]> {
    const texts = await Promise.all(this.#seats.map((seat) => seat.ask(metricsPort, "/metrics")));
    return texts.flatMap((text) =>
      text.split("\n").filter((line) => /^refit_unexpected_errors_total.* [1-9]/.test(line)),
    );
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#seats.map((seat) => seat.remove()));
    await this.#webhooks?.close();
  }

  #at(number: number): LivingSeat {
    const seat = this.#seats[number];
    if (seat === undefined) throw new Error(`there is no replica ${number}`);
    return seat;
  }

  /** A kubeconfig of this life, with a token of its own, on the road of its seat. */
  async #kubeconfig(seat: LivingSeat, number: number): Promise<string> {
    const file = join(this.#options.folder, `${number}.kubeconfig`);
    const config = JSON.parse(await accountKubeconfig(this.#options.kubeconfig, "kruise-manager"));
    config.clusters[0].cluster.server = `https://${apiServiceAddress}:${seat.port}`;
    this.#options.onStart(this.nameOf(number), config.users[0].user.token);
    writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
    return file;
  }

  #command(kubeconfig: string): string[] {
    const { mutant } = this.#options;
    const sources = ["--import", join(import.meta.dirname, "mutated.ts"), join(root, "cli", "bin.js")];
    return [
      process.execPath,
      ...controllerNodeFlags,
      ...(mutant === "" ? [builtProgram("refit")] : sources),
      "controller",
      `--kubeconfig=${kubeconfig}`,
      `--metrics-addr=0.0.0.0:${metricsPort}`,
      `--health-probe-addr=0.0.0.0:${healthPort}`,
      "--enable-leader-election=true",
      `--feature-gates=${gates}`,
    ];
  }

  /** As a Service and its endpoints do it: those that are ready, in turn. */
  #reviewer(): Place {
    const ready = this.#seats.filter((seat) => seat.isReady);
    const seat = ready[this.#reviews++ % ready.length];
    return { host: seat?.network.address ?? "127.0.0.1", port: this.#webhookPort };
  }

  async #probe(): Promise<void> {
    while (!this.#over.signal.aborted) {
      await Promise.all(
        this.#seats.map(async (seat) => {
          seat.isReady = await seat.ask(healthPort, "/readyz").then(
            () => true,
            () => false,
          );
        }),
      );
      await sleep(500);
    }
  }
}

async function isLeader(seat: LivingSeat): Promise<boolean> {
  const metrics = await seat.ask(metricsPort, "/metrics").catch(() => "");
  return /^kruise_manager_is_leader 1$/m.test(metrics);
}

/** As the audit log tells of a token. */
export function credentialOf(token: string): string {
  const payload: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
  const id = typeof payload === "object" && payload !== null ? Reflect.get(payload, "jti") : undefined;
  return `JTI=${String(id)}`;
}
