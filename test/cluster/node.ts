/** One real node: a containerd with its own folders, and a kubelet that speaks to it. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type Service, startService, untilReady } from "./processes.ts";
import { containerdConfig, type KubeletPorts, kubeletConfig, writeKubeconfig } from "./settings.ts";

const run = promisify(execFile);

export interface NodeOptions {
  readonly name: string;
  readonly root: string;
  readonly pki: string;
  readonly url: string;
  readonly programs: string;
  readonly imageArchive: string;
  readonly networkFolder: string;
  /** Where containerd finds which registry stands in for which host. */
  readonly registriesFolder: string;
  readonly ports: KubeletPorts;
}

export class TestNode {
  readonly name: string;
  readonly folder: string;
  readonly socket: string;
  readonly #options: NodeOptions;
  readonly #cgroup: string;
  #containerd: Service | undefined;
  #kubelet: Service | undefined;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.name = options.name;
    this.folder = join(options.root, options.name);
    this.socket = join(this.folder, "containerd.sock");
    this.#cgroup = `refit-${process.pid}-${options.name}`;
  }

  async start(): Promise<void> {
    mkdirSync(this.folder, { recursive: true });
    for (const controller of cgroupRoots()) mkdirSync(join(controller, this.#cgroup), { recursive: true });
    const config = join(this.folder, "containerd.toml");
    writeFileSync(
      config,
      containerdConfig(this.folder, this.#options.networkFolder, this.#options.registriesFolder),
    );
    this.#startRuntime();
    await untilReady(this.#runtime, async () => existsSync(this.socket), 20_000);
    await this.ctr("images", "import", "--no-unpack", this.#options.imageArchive);
    this.startKubelet();
  }

  /** Kills the runtime and resolves when another one answers; shims and containers stay. */
  async restartRuntime(): Promise<void> {
    this.#containerd?.kill("SIGKILL");
    await this.#containerd?.stop();
    this.#startRuntime();
    await untilReady(this.#runtime, async () => (await this.ctr("version")) !== "", 20_000);
  }

  #startRuntime(): void {
    this.#containerd = startService(
      `containerd-${this.name}`,
      "containerd",
      ["--config", join(this.folder, "containerd.toml")],
      { logFolder: this.#options.root },
    );
  }

  get #runtime(): Service {
    if (this.#containerd === undefined) throw new Error(`the runtime of ${this.name} was not started`);
    return this.#containerd;
  }

  get kubelet(): Service {
    if (this.#kubelet === undefined) throw new Error(`the kubelet of ${this.name} was not started`);
    return this.#kubelet;
  }

  startKubelet(): void {
    const { root, pki, url, programs, ports } = this.#options;
    const config = join(this.folder, "kubelet.json");
    writeFileSync(config, kubeletConfig(this.folder, pki, `/${this.#cgroup}`, ports));
    const kubeconfig = join(this.folder, "kubeconfig");
    writeKubeconfig(kubeconfig, url, pki, this.name);
    this.#kubelet = startService(
      `kubelet-${this.name}`,
      join(programs, "kubelet"),
      [
        `--config=${config}`,
        `--kubeconfig=${kubeconfig}`,
        `--hostname-override=${this.name}`,
        `--root-dir=${join(this.folder, "kubelet")}`,
        `--cert-dir=${join(this.folder, "kubelet-certificates")}`,
      ],
      { logFolder: root },
    );
  }

  /** Runs containerd's own client in the namespace of Kubernetes. */
  async ctr(...argumentList: string[]): Promise<string> {
    const { stdout } = await run("ctr", ["-a", this.socket, "-n", "k8s.io", ...argumentList], {
      maxBuffer: 16 << 20,
    });
    return stdout;
  }

  /** Ends kubelet, every container, the runtime and what was mounted for them. Safe to call at any moment. */
  async stop(): Promise<void> {
    await this.#kubelet?.stop(5_000);
    const end = performance.now() + 5_000;
    for (
      let shims = shimsOf(this.socket);
      shims.length > 0 && performance.now() < end;
      shims = shimsOf(this.socket)
    ) {
      for (const shim of shims) for (const child of childrenOf(shim)) endProcess(child);
      await sleep(200);
    }
    await this.#containerd?.stop(5_000);
    for (const shim of shimsOf(this.socket)) {
      for (const child of childrenOf(shim)) endProcess(child);
      endProcess(shim);
    }
    await unmountBelow(this.folder);
    for (const controller of cgroupRoots()) removeCgroup(join(controller, this.#cgroup));
  }
}

function cgroupRoots(): string[] {
  const root = "/sys/fs/cgroup";
  if (existsSync(join(root, "cgroup.controllers"))) return [root];
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(root, entry.name));
}

/** A cgroup can go only after its children; the files in it are the kernel's. */
function removeCgroup(path: string): void {
  if (!existsSync(path)) return;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) removeCgroup(join(path, entry.name));
  }
  try {
    rmdirSync(path);
  } catch {
    // Still busy: a process of it is just ending. An empty leftover cgroup holds nothing.
  }
}

function processIds(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number);
}

function readProcess(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

/** Ids of the container shims that serve the containerd behind `socket`. */
export function shimsOf(socket: string): number[] {
  return processIds().filter((pid) => {
    const words = readProcess(pid, "cmdline").split("\0");
    return (words[0] ?? "").includes("containerd-shim") && words.includes(socket);
  });
}

function childrenOf(parent: number): number[] {
  return processIds().filter((pid) => {
    const afterName = readProcess(pid, "stat").split(") ").at(-1) ?? "";
    return Number(afterName.split(" ")[1]) === parent;
  });
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

/** Unmounts everything below `folder`, innermost first. */
export async function unmountBelow(folder: string): Promise<void> {
  const points = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((point) => point.startsWith(`${folder}/`))
    .sort((a, b) => b.length - a.length);
  for (const point of points) await run("umount", ["--lazy", point]).catch(() => undefined);
}
