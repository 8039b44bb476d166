/**
 * A real Kubernetes cluster on this machine, for tests: etcd, API server, the built-in controllers, the
 * scheduler, and nodes with a real kubelet and containerd. It listens on loopback, on ports that were free, and
 * keeps everything in one folder, so that it can stand beside any other cluster and go without a trace.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { freePorts, portAt } from "../../testkit/cli/free_ports.ts";
import { type AgentProcess, type AgentRuntime, startAgents } from "./agents.ts";
import { type Api, connect } from "./api.ts";
import { serveApiAddress } from "./api_address.ts";
import {
  apiServerArguments,
  componentArguments,
  podsDoWithoutApiArguments,
  podsUseApiArguments,
} from "./control_plane.ts";
import { writeImageArchive } from "./images.ts";
import { TestNode, unmountBelow } from "./node.ts";
import { podSubnet } from "./pod_subnet.ts";
import { exitOnInterrupt, type Service, startService, untilAllReady, untilReady } from "./processes.ts";
import { pushImage, startRegistry } from "./registry.ts";
import {
  cachedPrograms,
  kubernetesVersion,
  networkConfig,
  programFolder,
  writeKubeconfig,
} from "./settings.ts";
import { Store } from "./store.ts";

const run = promisify(execFile);
const here = import.meta.dirname;

export interface ClusterOptions {
  /** Real nodes; 0 for a control plane alone. */
  readonly nodes: number;
  /** How long suites take the API server away for. */
  readonly outageMs: number;
  /**
   * Pods reach the API server as in a cluster: with tokens of their service accounts, at the address of its Service; it
   * calls webhooks by Services. One such cluster at a time: the address is the machine's. Default false.
   */
  readonly podsUseApi?: boolean;
  /** Members of etcd; default 1. */
  readonly storeMembers?: number;
  /** Of a disk for each of them alone; default: they share that of the cluster's folder. */
  readonly storeDiskMb?: number;
  /** Of every API server, after the usual ones. */
  readonly serverFlags?: readonly string[];
  /** Called after each stage with its name and duration in milliseconds. */
  readonly onStage: (name: string, ms: number) => void;
  readonly environment: NodeJS.ProcessEnv;
}

export interface TestCluster {
  readonly kubeconfig: string;
  readonly folder: string;
  readonly nodes: readonly TestNode[];
  readonly api: Api;
  /** Starts the node agent on every node; the project must be installed. */
  startAgents(runtime: AgentRuntime, flags?: readonly string[]): Promise<readonly AgentProcess[]>;
  readonly faults: ClusterFaults;
  /**
   * Ends the API server and starts it again, as its upgrade does: with the API and the features of an earlier version if one
   * is given, such as `1.33`, or as the program of another release, such as `1.33.13`, which is built if need be. Resolves when
   * it is ready.
   */
  startServer(options: { emulatedVersion?: string; release?: string }): Promise<void>;
  /** Where the members of etcd answer. */
  readonly storeUrls: readonly string[];
  /** Starts one more API server, on what these URLs lead to; it ends with the cluster. Resolves to its URL when it is ready. */
  startAnotherServer(storeUrl: string, flags: readonly string[]): Promise<string>;
  /** What etcd holds below a prefix of its keys, such as `/registry/pods/`: the values by key. */
  stored(prefix: string): Promise<ReadonlyMap<string, string>>;
  /** Puts an image of an OCI layout into the registry that stands in for docker.io. There must be nodes. */
  push(folder: string, image: string, as: string): Promise<void>;
  /** Ends and removes everything that was started; safe to call twice. */
  stop(): Promise<void>;
}

/** What suites that run alone may do to the cluster. */
export interface ClusterFaults {
  /** Kills the container runtime of a node and resolves when another one answers; containers run on. */
  restartRuntime(node: string): Promise<void>;
  /** Kills the API server, starts it again after the outage of the cluster's options, resolves when it is ready. */
  serverAway(): Promise<void>;
  /** Kills the member of etcd that leads the others; resolves to what starts it again. */
  killStoreLeader(): Promise<() => void>;
  /**
   * Fills the disk of the member of etcd that leads; there must be disks of `storeDiskMb`. Resolves once the member has ended, to what
   * frees its disk and starts it again.
   */
  fillStoreLeaderDisk(): Promise<() => void>;
}

/** Builds the Kubernetes programs unless they are there; resolves to the script's last words. */
export async function buildPrograms(environment: NodeJS.ProcessEnv): Promise<string> {
  const folder = programFolder(environment);
  const { stdout } = await run(join(here, "build.sh"), [kubernetesVersion, folder], { maxBuffer: 16 << 20 });
  return stdout.trim();
}

/**
 * Starts clusters, one after another, and resolves when their nodes are Ready. When a stage fails, all that ran before it
 * is ended.
 */
export async function startClusters(
  count: number,
  options: ClusterOptions,
): Promise<readonly [TestCluster, ...TestCluster[]]> {
  const first = new LocalCluster(0, options);
  const others = Array.from({ length: count - 1 }, (_, index) => new LocalCluster(index + 1, options));
  const stop = async () => {
    await Promise.all([first, ...others].map((cluster) => cluster.stop()));
  };
  exitOnInterrupt(stop);
  try {
    for (const cluster of [first, ...others]) await cluster.start();
    return [first, ...others];
  } catch (error) {
    await stop();
    throw error;
  }
}

class LocalCluster implements TestCluster {
  readonly folder: string;
  readonly kubeconfig: string;
  readonly nodes: TestNode[] = [];
  readonly #ordinal: number;
  readonly #options: ClusterOptions;
  readonly #services: Service[] = [];
  readonly #bridge: string;
  #api: Api | undefined;
  #server: Service | undefined;
  #store: Store | undefined;
  #ports: number[] = [];
  #agents: readonly AgentProcess[] = [];
  #endApiAddress: (() => Promise<void>) | undefined;
  #stopped: Promise<void> | undefined;

  /** `ordinal`, from 0 to 15, tells clusters of one process apart: in names of nodes and bridges, in addresses of pods. */
  constructor(ordinal: number, options: ClusterOptions) {
    this.#ordinal = ordinal;
    this.#options = options;
    this.#bridge = `rft${process.pid}x${ordinal}`;
    this.folder = mkdtempSync(join(tmpdir(), "refit-test-"));
    this.kubeconfig = join(this.folder, "admin.kubeconfig");
  }

  get api(): Api {
    if (this.#api === undefined) throw new Error("the cluster has not been started");
    return this.#api;
  }

  get #programs(): string {
    return programFolder(this.#options.environment);
  }

  async start(): Promise<void> {
    const names = Array.from(
      { length: this.#options.nodes },
      (_, index) => `refit-test-${this.#ordinal}-node-${index + 1}`,
    );
    await this.#stage("packages", () => this.#script("packages.sh"));
    await this.#stage(`kubernetes ${kubernetesVersion}`, async () => {
      await buildPrograms(this.#options.environment);
    });
    await this.#stage("certificates", () => this.#script("pki.sh", join(this.folder, "pki"), ...names));
    this.#ports = await freePorts(4 + 2 * names.length);
    const members = await freePorts(2 * (this.#options.storeMembers ?? 1));
    this.#store = new Store(this.folder, members, (...words) => this.#service(...words));
    await this.#stage("control plane", () => this.#startControlPlane());
    if (names.length > 0) {
      const archive = join(this.folder, "images.tar");
      await this.#stage("images", async () => {
        writeImageArchive(join(this.folder, "images"), archive, this.#programs);
        const registries = join(this.folder, "registries");
        this.#services.push(await startRegistry(this.folder, portAt(this.#ports, 3), archive, registries));
      });
      await this.#stage(`${names.length} node(s)`, () => this.#startNodes(names, archive));
    }
  }

  async startAgents(runtime: AgentRuntime, flags: readonly string[] = []): Promise<readonly AgentProcess[]> {
    await this.#stage(`agents (${runtime})`, async () => {
      this.#agents = await startAgents(this.nodes, { kubeconfig: this.kubeconfig, runtime, flags });
    });
    return this.#agents;
  }

  get #url(): string {
    return `https://127.0.0.1:${portAt(this.#ports, 0)}`;
  }

  push(folder: string, image: string, as: string): Promise<void> {
    return pushImage(portAt(this.#ports, 3), `oci:${folder}:${image}`, as);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    await this.#api?.close();
    await Promise.all(this.#agents.map((agent) => agent.stop()));
    await Promise.all(this.nodes.map((node) => node.stop()));
    for (const service of this.#services.reverse()) await service.stop(5_000);
    await this.#endApiAddress?.();
    await run("ip", ["link", "delete", this.#bridge]).catch(() => undefined);
    await unmountBelow(this.folder);
    rewriteHosts((line) => !line.endsWith(hostMark(this.folder)));
    if (!this.#options.environment["REFIT_KEEP_LOGS"]) rmSync(this.folder, { recursive: true, force: true });
  }

  async #stage(name: string, work: () => Promise<void>): Promise<void> {
    const start = performance.now();
    if (this.#stopped !== undefined) throw new Error(`stopped before stage ${name}`);
    await work();
    this.#options.onStage(name, performance.now() - start);
  }

  async #script(name: string, ...argumentList: string[]): Promise<void> {
    await run(join(here, name), argumentList, { maxBuffer: 16 << 20 });
  }

  #service(name: string, command: string, argumentList: readonly string[]): Service {
    const service = startService(name, command, argumentList, { logFolder: this.folder });
    this.#services.push(service);
    return service;
  }

  async #startControlPlane(): Promise<void> {
    const pki = join(this.folder, "pki");
    writeKubeconfig(this.kubeconfig, this.#url, pki, "admin");
    this.#api = connect(this.kubeconfig);
    await this.#members.start(this.#options.storeDiskMb);
    await this.#startServer();
    for (const [name, port] of [
      ["kube-controller-manager", portAt(this.#ports, 1)],
      ["kube-scheduler", portAt(this.#ports, 2)],
    ] as const) {
      const own =
        name === "kube-scheduler"
          ? []
          : [
              `--service-account-private-key-file=${join(pki, "service-accounts.key")}`,
              `--root-ca-file=${join(pki, "ca.crt")}`,
            ];
      this.#service(name, join(this.#programs, name), [...componentArguments(this.kubeconfig, port), ...own]);
    }
  }

  get #members(): Store {
    if (this.#store === undefined) throw new Error("the cluster has not been started");
    return this.#store;
  }

  get storeUrls(): readonly string[] {
    return this.#members.urls;
  }

  stored(prefix: string): Promise<ReadonlyMap<string, string>> {
    return this.#members.below(prefix);
  }

  async startAnotherServer(storeUrl: string, flags: readonly string[]): Promise<string> {
    const [port = 0] = await freePorts(1);
    const server = this.#service("kube-apiserver-beside", join(this.#programs, "kube-apiserver"), [
      ...this.#serverArguments(port, [storeUrl]),
      ...flags,
    ]);
    const url = `https://127.0.0.1:${port}`;
    const kubeconfig = join(this.folder, "beside.kubeconfig");
    writeKubeconfig(kubeconfig, url, join(this.folder, "pki"), "admin");
    const api = connect(kubeconfig);
    await untilReady(server, async () => (await api.request("GET", "/readyz")).status === 200, 120_000);
    await api.close();
    return url;
  }

  async startServer({ emulatedVersion, release }: Parameters<TestCluster["startServer"]>[0]): Promise<void> {
    const programs = release === undefined ? this.#programs : await this.#buildServer(release);
    await this.#server?.stop();
    const more = emulatedVersion === undefined ? [] : [`--emulated-version=${emulatedVersion}`];
    await this.#startServer(more, programs);
  }

  async #buildServer(release: string): Promise<string> {
    const folder = cachedPrograms("kubernetes", release, this.#options.environment);
    await this.#stage(`kube-apiserver ${release}`, () =>
      this.#script("build.sh", release, folder, "kube-apiserver"),
    );
    return folder;
  }

  async #startServer(more: readonly string[] = [], programs = this.#programs): Promise<void> {
    const { api } = this;
    const server = this.#service("kube-apiserver", join(programs, "kube-apiserver"), [
      ...this.#serverArguments(portAt(this.#ports, 0), this.storeUrls),
      ...more,
    ]);
    this.#server = server;
    await untilReady(server, async () => (await api.request("GET", "/readyz")).status === 200, 120_000);
  }

  #serverArguments(port: number, stores: readonly string[]): string[] {
    return [
      ...apiServerArguments(join(this.folder, "pki"), port, stores),
      ...(this.#options.podsUseApi === true ? podsUseApiArguments : podsDoWithoutApiArguments),
      ...(this.#options.serverFlags ?? []),
    ];
  }

  readonly faults: ClusterFaults = {
    restartRuntime: async (name) => {
      const node = this.nodes.find((one) => one.name === name);
      if (node === undefined) throw new Error(`no node ${name}`);
      await node.restartRuntime();
    },
    serverAway: async () => {
      this.#server?.kill("SIGKILL");
      await this.#server?.stop();
      await sleep(this.#options.outageMs);
      await this.#startServer();
    },
    killStoreLeader: () => this.#members.killLeader(),
    fillStoreLeaderDisk: () => this.#members.fillLeaderDisk(),
  };

  async #startNodes(names: readonly string[], imageArchive: string): Promise<void> {
    if (this.#options.podsUseApi === true)
      this.#endApiAddress = await serveApiAddress(`${this.#bridge}a`, portAt(this.#ports, 0));
    const networkFolder = join(this.folder, "network");
    mkdirSync(networkFolder);
    const subnet = podSubnet(process.pid, this.#ordinal, (await run("ip", ["route"])).stdout);
    writeFileSync(join(networkFolder, "10-refit.conflist"), networkConfig(this.folder, this.#bridge, subnet));
    const mark = hostMark(this.folder);
    rewriteHosts(
      () => true,
      names.map((name) => `127.0.0.1 ${name} ${mark}`),
    );
    for (const [index, name] of names.entries()) {
      this.nodes.push(
        new TestNode({
          name,
          root: this.folder,
          pki: join(this.folder, "pki"),
          url: this.#url,
          programs: this.#programs,
          imageArchive,
          networkFolder,
          registriesFolder: join(this.folder, "registries"),
          ports: {
            server: portAt(this.#ports, 4 + 2 * index),
            health: portAt(this.#ports, 5 + 2 * index),
          },
        }),
      );
    }
    await Promise.all(this.nodes.map((node) => node.start()));
    await untilAllReady(
      this.nodes.map(({ name, kubelet }) => ({ service: kubelet, probe: () => this.#isReady(name) })),
      120_000,
    );
  }

  async #isReady(node: string): Promise<boolean> {
    const { status } = await this.api.get("nodes", node);
    return status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
  }
}

function hostMark(folder: string): string {
  return `# ${folder}`;
}

/** The API server reaches kubelets by host name; the lines carry a mark by which they are removed again. */
function rewriteHosts(keep: (line: string) => boolean, add: readonly string[] = []): void {
  const lines = readFileSync("/etc/hosts", "utf8").trimEnd().split("\n");
  const kept = lines.filter(keep);
  if (kept.length === lines.length && add.length === 0) return;
  writeFileSync("/etc/hosts", `${[...kept, ...add].join("\n")}\n`);
}
