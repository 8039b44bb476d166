/** The agent's memory on disk: killed at every step of its writing, kept from writing, shared by two. */
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { builtProgram } from "../built.ts";
import {
  AgentUnderTest,
  eventually,
  type NodeUnderTest,
  pullTask,
  reached,
  readText,
  startFake,
  startNode,
  tagStatus,
  wantImages,
} from "./fixture.ts";

const image = { id: `sha256:${"a".repeat(64)}` };
const dyingWriter = new URL("dying_writer.ts", import.meta.url).pathname;
const agentMain = builtProgram("agent");
const isRoot = process.getuid?.() === 0;

t.test(
  "killed at each step of writing its state: nothing is lost, and nothing that was reported is repeated",
  async (t) => {
    const under = await startNode(t, {
      program: () => [process.execPath, "--import", dyingWriter, agentMain],
    });
    const { runtime } = await startFake(t, under);
    const images: Record<string, object> = {};
    const pullsOf = (name: string): number =>
      runtime.pulls.filter(({ image: asked }) => asked?.image === `${name}:1`).length;
    /** Image -> its pulls when its success was in the status. */
    const reported = new Map<string, number>();
    // One write is 8 steps: the NodeImage's, while the first result comes in; then that result's.
    const steps = 12;
    const want = async (name: string): Promise<void> => {
      runtime.registry.set(`${name}:1`, image);
      images[name] = { tags: [pullTask("1")] };
      await wantImages(under.api, images);
    };
    const note = async (): Promise<void> => {
      for (const name of Object.keys(images)) {
        if (reported.has(name) || (await tagStatus(under.api, name, "1"))?.phase !== "Succeeded") continue;
        reported.set(name, pullsOf(name));
      }
    };
    for (let diesAt = 1; diesAt <= steps; diesAt++) {
      const name = `image-${diesAt}`;
      await want(name);
      launch(under, diesAt);
      await eventually(
        `death ${diesAt}, or all is done`,
        async () => under.agent.exitCode() !== undefined || (await isDone(under, name)),
      );
      await under.agent.kill();
      leftovers(t, under.stateFolder);
      await note();
    }
    launch(under, 0);
    for (const name of Object.keys(images)) await reached(under.api, name, "1", "Succeeded");
    await under.agent.kill();
    await note();
    launch(under, 0);
    await want("last");
    await reached(under.api, "last", "1", "Succeeded");
    t.equal(reported.size, steps);
    for (const [name, count] of reported) t.equal(pullsOf(name), count, `${name} is not pulled again`);
    t.notMatch(under.agent.log, /a saved state is not used/);
  },
);

for (const [what, message, prepare] of [
  [
    "on a read-only file system",
    /EROFS/,
    (folder: string) => execFileSync("mount", ["-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", folder]),
  ],
  [
    "of a foreign owner",
    /EACCES/,
    (folder: string) => {
      chownSync(folder, 12_345, 12_345);
      chmodSync(folder, 0o755);
    },
  ],
  [
    "of a foreign owner, and closed",
    /EACCES/,
    (folder: string) => {
      chownSync(folder, 12_345, 12_345);
      chmodSync(folder, 0o700);
    },
  ],
] as const) {
  t.test(`a state folder ${what}`, { skip: isRoot ? false : "needs root" }, async (t) => {
    const stateFolder = mkdtempSync(join(tmpdir(), "refit-foreign-"));
    prepare(stateFolder);
    t.teardown(() => {
      if (message.source === "EROFS") execFileSync("umount", ["--lazy", stateFolder]);
      rmSync(stateFolder, { recursive: true, force: true });
    });
    // As the DaemonSet's container: root, without root's capabilities.
    const bare = ["setpriv", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"];
    const under = await startNode(t, { stateFolder, program: () => [...bare, process.execPath, agentMain] });
    const { runtime } = await startFake(t, under);
    for (const name of ["one", "two"]) runtime.registry.set(`${name}:1`, image);
    await under.agent.start(`--socket-file=${under.socket}`);
    await under.agent.ready();
    await wantImages(under.api, { one: { tags: [pullTask("1")] } });
    await reached(under.api, "one", "1", "Succeeded");
    await eventually("it is said", async () => under.agent.log.includes("could not be saved"));
    t.match(under.agent.log, message);
    await under.agent.kill();
    await wantImages(under.api, { one: { tags: [pullTask("1")] }, two: { tags: [pullTask("1")] } });
    await under.agent.start(`--socket-file=${under.socket}`);
    await reached(under.api, "two", "1", "Succeeded");
    t.equal(runtime.pulls.length, 2, "what the status says is not pulled again");
    // Images are told as soon as their own watch is there; the others may come later.
    await under.agent.ready();
    t.equal((await under.agent.get("/readyz")).status, 200);
  });
}

t.test("a second agent on the node's port says so and leaves the first alone", async (t) => {
  const under = await startNode(t);
  const { runtime } = await startFake(t, under);
  runtime.registry.set("one:1", image);
  await under.agent.start();
  await under.agent.ready();
  const other = second(t, under, under.agent.port);
  other.launch([]);
  await eventually("it ends", async () => other.exitCode() !== undefined);
  t.equal(other.exitCode(), 1);
  t.match(other.log, new RegExp(`EADDRINUSE.*${under.agent.port}`));
  t.notMatch(other.log, /^\s+at /m);
  await wantImages(under.api, { one: { tags: [pullTask("1")] } });
  await reached(under.api, "one", "1", "Succeeded");
  t.equal(runtime.pulls.length, 1);
});

t.test(
  "two agents of one node and one state folder: results are right, and the state is whole afterwards",
  async (t) => {
    const under = await startNode(t);
    const { runtime } = await startFake(t, under);
    const other = second(t, under, 0);
    other.launch([]);
    await under.agent.start();
    await under.agent.ready();
    await eventually("both are at work", async () => other.log.includes("container runtime found"));
    const names = Array.from({ length: 10 }, (_, index) => `image-${index}`);
    for (const name of names) runtime.registry.set(`${name}:1`, { ...image, pullMs: 20 });
    await wantImages(under.api, Object.fromEntries(names.map((name) => [name, { tags: [pullTask("1")] }])));
    for (const name of names) await reached(under.api, name, "1", "Succeeded");
    t.ok(runtime.pulls.length <= 2 * names.length, `${runtime.pulls.length} pulls`);
    t.equal(under.agent.exitCode(), undefined);
    t.equal(other.exitCode(), undefined);
    await Promise.all([under.agent.stop(), other.stop()]);
    const pulled = runtime.pulls.length;
    await under.agent.start();
    await under.agent.ready();
    t.notMatch(under.agent.log, /a saved state is not used/);
    t.equal(runtime.pulls.length, pulled);
  },
);

/** Another process for the same node, with the same files; port 0: any. */
function second(t: Test, under: NodeUnderTest, port: number): AgentUnderTest {
  const folder = join(under.folder, "second");
  mkdirSync(folder);
  const other = new AgentUnderTest(folder, port, [
    process.execPath,
    agentMain,
    `--addr=127.0.0.1:${port}`,
    `--socket-file=${under.socket}`,
    `--kubeconfig=${join(under.folder, "agent.kubeconfig")}`,
    `--state-dir=${under.stateFolder}`,
  ]);
  t.teardown(() => other.stop());
  return other;
}

function launch(under: NodeUnderTest, diesAt: number): void {
  const environment = { NODE_NAME: "node-1", REFIT_DIES_AT: `${diesAt}` };
  under.agent.launch([`--socket-file=${under.socket}`], environment);
}

async function isDone({ api, stateFolder }: NodeUnderTest, name: string): Promise<boolean> {
  if ((await tagStatus(api, name, "1"))?.phase !== "Succeeded") return false;
  return readText(join(stateFolder, "images.json")).includes(`"${name}"`);
}

/** However often it dies, the folder does not fill. */
function leftovers(t: Test, folder: string): void {
  const files = readdirSync(folder);
  if (!files.every((name) => /^[a-z_]+\.json(\.old|\.new)?$/.test(name))) t.fail(files.join());
}
