/** A containerd of its own for tests: root, state and socket in a temporary folder, images built without a network. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { constants, existsSync } from "node:fs";
import { access, chmod, copyFile, mkdir, mkdtemp, open, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const programs = ["/usr/bin/containerd", "/usr/bin/ctr", "/usr/bin/umoci", "/usr/bin/skopeo", "/bin/busybox"];

/** Why no containerd can be started here, or undefined. */
export function containerdMissing(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs root on Linux";
  const absent = programs.filter((path) => !existsSync(path));
  return absent.length === 0 ? undefined : `not installed: ${absent.join(", ")}`;
}

export interface ContainerdFixture {
  readonly folder: string;
  readonly socket: string;
  /** On the node already; `sh` inside, runs until SIGTERM. */
  readonly image: string;
  ctr(...args: string[]): Promise<string>;
  /** Ends containerd alone; containers go on. `start` brings it back. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const ownImage = "localhost/refit-contract:1";

export async function startContainerd(): Promise<ContainerdFixture> {
  const folder = await mkdtemp(join(tmpdir(), "refit-containerd-"));
  const socket = join(folder, "containerd.sock");
  await writeFile(join(folder, "containerd.toml"), configuration(folder, socket));
  let child: ChildProcess | undefined;
  const ctr = async (...args: string[]): Promise<string> =>
    (await run("/usr/bin/ctr", ["-a", socket, "-n", "k8s.io", ...args])).stdout;

  async function start(): Promise<void> {
    const log = await open(join(folder, "containerd.log"), "a");
    child = spawn("/usr/bin/containerd", ["-c", join(folder, "containerd.toml")], {
      stdio: ["ignore", log.fd, log.fd],
    });
    await log.close();
    for (let round = 0; ; round++) {
      if (await ctr("version").then(Boolean, () => false)) return;
      if (round === 100) throw new Error(`containerd did not answer on ${socket}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  async function kill(): Promise<void> {
    const ended = child;
    if (!ended || ended.exitCode !== null || ended.signalCode !== null) return;
    const exit = new Promise((resolve) => ended.once("exit", resolve));
    ended.kill("SIGKILL");
    await exit;
  }
  async function stop(): Promise<void> {
    const tasks = await ctr("tasks", "ls", "-q").catch(() => "");
    for (const task of tasks.split("\n").filter(Boolean))
      await ctr("tasks", "rm", "-f", task).catch(() => "");
    await kill();
    await rm(folder, { recursive: true, force: true });
  }

  await start();
  try {
    await importImage(folder, ctr);
  } catch (error) {
    await stop();
    throw error;
  }
  return { folder, socket, image: ownImage, ctr, kill, start, stop };
}

function configuration(folder: string, socket: string): string {
  return `version = 2
root = "${folder}/root"
state = "${folder}/state"
disabled_plugins = ["io.containerd.internal.v1.tracing"]
[grpc]
  address = "${socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${ownImage}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    conf_dir = "${folder}/cni"
    bin_dir = "/usr/lib/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${folder}/certs.d"
`;
}

/** One busybox layer; PID 1 ends at once on SIGTERM. */
async function importImage(folder: string, ctr: (...args: string[]) => Promise<string>): Promise<void> {
  const work = join(folder, "image");
  await mkdir(work);
  const cwd = { cwd: work };
  await run("/usr/bin/umoci", ["init", "--layout", "oci"], cwd);
  await run("/usr/bin/umoci", ["new", "--image", "oci:base"], cwd);
  await run("/usr/bin/umoci", ["unpack", "--image", "oci:base", "bundle"], cwd);
  const root = join(work, "bundle", "rootfs");
  for (const name of ["bin", "etc", "tmp"]) await mkdir(join(root, name), { recursive: true });
  await access("/bin/busybox", constants.X_OK);
  await copyFile("/bin/busybox", join(root, "bin/busybox"));
  const applets = [
    "sh",
    "env",
    "sleep",
    "true",
    "cat",
    "echo",
    "touch",
    "nc",
    "httpd",
    "kill",
    "date",
    "false",
  ];
  for (const applet of applets) await symlink("busybox", join(root, "bin", applet));
  await writeFile(join(root, "bin/serve"), '#!/bin/sh\ntrap "exit 0" TERM\nsleep 2147483647 &\nwait $!\n');
  await chmod(join(root, "bin/serve"), 0o755);
  await writeFile(join(root, "etc/passwd"), "root:x:0:0:root:/:/bin/sh\n");
  await run("/usr/bin/umoci", ["repack", "--image", "oci:base", "bundle"], cwd);
  await run("/usr/bin/umoci", ["config", "--image", "oci:base", "--config.cmd", "/bin/serve"], cwd);
  const archive = join(work, "image.tar");
  await run("/usr/bin/skopeo", ["copy", "-q", "oci:oci:base", `docker-archive:${archive}:${ownImage}`], cwd);
  await ctr("images", "import", archive);
  await rm(work, { recursive: true, force: true });
}
