import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import t, { type Test } from "tap";
import { type Clock, nullLog, systemClock } from "../../kube/index.ts";
import { encode, methods } from "../../proto/cri/index.ts";
import { type FakeCri, startFakeCri } from "../../testkit/cri/fake_cri.ts";
import { testLog } from "../../testkit/kube/fake_log.ts";
import { type Answer, candidatePaths, chooseRuntime } from "./candidates.ts";
import { type FinderDependencies, type Runtime, type RuntimeFinder, startRuntimeFinder } from "./finder.ts";

async function runFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "refit-run-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function runtimeAt(t: Test, path: string, runtimeName: string): Promise<FakeCri> {
  await mkdir(dirname(path), { recursive: true });
  const server = await startFakeCri({ socket: path, clock: systemClock, runtimeName });
  t.teardown(() => server.stop());
  return server;
}

function finder(
  t: Test,
  root: string,
  more: Partial<FinderDependencies> & { socketFile?: string } = {},
): RuntimeFinder {
  const found = startRuntimeFinder({
    clock: systemClock,
    log: nullLog,
    settings: { socketFile: more.socketFile ?? "", roots: [root] },
    kubeletRuntime: async () => undefined,
    ...more,
  });
  t.teardown(() => found.stop());
  return found;
}

/** The next change that `wanted` accepts, or the present state if it does. */
function until(
  found: RuntimeFinder,
  wanted: (runtime: Runtime | undefined, reason: string) => boolean,
): Promise<string> {
  return new Promise((resolve) => {
    const look = (runtime: Runtime | undefined, reason: string): void => {
      if (!wanted(runtime, reason)) return;
      unsubscribe();
      resolve(runtime ? `${runtime.name} ${runtime.socket}` : reason);
    };
    const unsubscribe = found.subscribe(look);
    look(found.current, found.reason);
  });
}
const ready = (runtime: Runtime | undefined): boolean => runtime !== undefined;
const notFound = (_: Runtime | undefined, reason: string): boolean => reason.startsWith("not found");

t.test("each known place is found without settings", async (t) => {
  const places: [string, string][] = [
    ["containerd/containerd.sock", "containerd"],
    ["crio/crio.sock", "cri-o"],
    ["cri-dockerd.sock", "docker"],
    ["k3s/containerd/containerd.sock", "containerd"],
    ["k0s/containerd.sock", "containerd"],
  ];
  for (const [place, name] of places) {
    const root = await runFolder(t);
    await runtimeAt(t, join(root, place), name);
    t.equal(await until(finder(t, root), ready), `${name} ${join(root, place)}`);
  }
});

t.test(
  "none at all: stays up, says what was tried and which setting helps, goes on when a socket appears",
  async (t) => {
    const root = await runFolder(t);
    const log = testLog();
    const found = finder(t, root, { log });
    const reason = await until(found, notFound);
    t.match(reason, /not found container runtime sock/);
    for (const path of candidatePaths({ socketFile: "", roots: [root] }))
      t.match(reason, `${path}: does not exist`);
    t.match(reason, "--socket-file");
    t.match(reason, "daemon.socketLocation");
    await runtimeAt(t, join(root, "containerd.sock"), "containerd");
    t.equal(await until(found, ready), `containerd ${join(root, "containerd.sock")}`);
    t.equal(log.lines.filter((line) => line.level === "warn").length, 1, "one line for one outage");
  },
);

t.test("each candidate has its own error", async (t) => {
  const root = await runFolder(t);
  await writeFile(join(root, "crio.sock"), "");
  await writeFile(join(root, "containerd"), "");
  await writeFile(join(root, "dockershim.sock"), "");
  const gone = await runtimeAt(t, join(root, "left/behind.sock"), "containerd");
  await rename(join(root, "left/behind.sock"), join(root, "cri-dockerd.sock"));
  await gone.stop();
  const reason = await until(finder(t, root), notFound);
  t.match(reason, `${join(root, "crio.sock")}: exists, but is not a socket`);
  t.match(reason, `${join(root, "containerd/containerd.sock")}: does not exist`);
  t.match(reason, /cri-dockerd\.sock: no answer: Version: .*ECONNREFUSED/);
  t.match(reason, /dockershim\.sock: dockershim is not supported/);
  t.ok(reason.indexOf("--socket-file") < reason.indexOf("Tried"), "the setting fits into an event");
});

t.test("docker.sock alone is explained", async (t) => {
  const root = await runFolder(t);
  await writeFile(join(root, "docker.sock"), "");
  t.match(await until(finder(t, root), notFound), "dockerd without cri-dockerd is not supported");
});

t.test("a containerd that does not serve CRI is reported and cri-dockerd is used", async (t) => {
  const root = await runFolder(t);
  await writeFile(join(root, "docker.sock"), "");
  const server = new grpc.Server();
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(
      `unix:${join(root, "containerd.sock")}`,
      grpc.ServerCredentials.createInsecure(),
      (error) => (error ? reject(error) : resolve()),
    );
  });
  t.teardown(() => server.forceShutdown());
  const found = finder(t, root);
  t.match(await until(found, notFound), /containerd.sock: CRI v1 is not served: .*Unimplemented/);
  await runtimeAt(t, join(root, "cri-dockerd.sock"), "docker");
  t.match(await until(found, ready), /^docker /);
});

t.test("of two, the one that the kubelet uses; a configured one is obeyed", async (t) => {
  const root = await runFolder(t);
  await runtimeAt(t, join(root, "containerd.sock"), "containerd");
  await runtimeAt(t, join(root, "cri-dockerd.sock"), "docker");
  const kubeletRuntime = async (): Promise<string> => "docker://24.0.7";
  t.match(await until(finder(t, root, { kubeletRuntime }), ready), /^docker /);
  t.match(await until(finder(t, root), ready), /^containerd /);
  t.match(await until(finder(t, root, { socketFile: "cri-dockerd.sock" }), ready), /^docker /);
  const absolute = join(root, "containerd.sock");
  t.match(await until(finder(t, root, { socketFile: absolute, kubeletRuntime }), ready), /^containerd /);
});

t.test("a runtime that goes away is lost, and found again", async (t) => {
  const root = await runFolder(t);
  const path = join(root, "containerd.sock");
  const server = await runtimeAt(t, path, "containerd");
  const found = finder(t, root);
  await until(found, ready);
  await server.stop();
  found.suspect();
  t.match(await until(found, (runtime) => runtime === undefined), /lost the container runtime|not found/);
  await rm(path, { force: true });
  await runtimeAt(t, path, "containerd");
  t.match(await until(found, ready), /^containerd /);
});

t.test("a runtime that said no name, or a wrong one, is found once it says its own", async (t) => {
  const root = await runFolder(t);
  const server = await runtimeAt(t, join(root, "containerd.sock"), "containerd");
  const says = (runtime_name: string) =>
    ({ kind: "bytes", bytes: encode(methods.Version.response, { runtime_name }) }) as const;
  server.faults.set("Version", says(""));
  const found = finder(t, root);
  t.match(await until(found, notFound), "the runtime does not say its name");
  server.faults.set("Version", says("out of my mind"));
  t.match(await until(found, ready), /^out of my mind /);
  server.faults.clear();
  found.suspect();
  t.match(await until(found, (runtime) => runtime?.name === "containerd"), /^containerd /);
});

t.test(
  "a socket in a folder that did not exist is found at once, also when the folder comes again",
  async (t) => {
    const root = await runFolder(t);
    // Rounds by time alone would never end.
    const clock: Clock = { ...systemClock, sleep: (_, signal) => systemClock.sleep(600_000, signal) };
    const found = finder(t, root, { clock });
    await until(found, notFound);
    const path = join(root, "crio/crio.sock");
    for (const life of ["first", "second"]) {
      // Somebody listens already when the socket gets its name.
      const hidden = join(root, `${life}.sock`);
      const server = await runtimeAt(t, hidden, "cri-o");
      await mkdir(dirname(path));
      await rename(hidden, path);
      t.match(await until(found, ready), /^cri-o /, life);
      await server.stop();
      await rm(dirname(path), { recursive: true });
      found.suspect();
      await until(found, notFound);
    }
  },
);

t.test("chosen while the node could not be read: what the node says later counts", async (t) => {
  const root = await runFolder(t);
  await runtimeAt(t, join(root, "containerd.sock"), "containerd");
  await runtimeAt(t, join(root, "cri-dockerd.sock"), "docker");
  let away = true;
  let asked = 0;
  const kubeletRuntime = async (): Promise<string> => {
    asked += 1;
    if (away) throw new Error("the API server is away");
    return "docker://24.0.7";
  };
  const found = finder(t, root, { kubeletRuntime });
  t.match(await until(found, ready), /^containerd /);
  away = false;
  found.suspect();
  t.match(await until(found, (runtime) => runtime?.name === "docker"), /^docker /);
  const before = asked;
  found.suspect();
  await runtimeAt(t, join(root, "crio.sock"), "cri-o");
  t.equal(asked, before, "it is not asked again");
});

t.test("a named socket is waited for, although another is there", async (t) => {
  const root = await runFolder(t);
  await runtimeAt(t, join(root, "containerd.sock"), "containerd");
  const found = finder(t, root, { socketFile: "cri-dockerd.sock" });
  const reason = await until(found, notFound);
  t.match(reason, /cri-dockerd\.sock: does not exist/);
  t.notMatch(reason, /\/containerd\.sock/);
  await runtimeAt(t, join(root, "cri-dockerd.sock"), "docker");
  t.match(await until(found, ready), /^docker /);
});

t.test("a node that cannot be read does not stop detection", async (t) => {
  const root = await runFolder(t);
  await runtimeAt(t, join(root, "containerd.sock"), "containerd");
  const kubeletRuntime = async (): Promise<string> => {
    throw new Error("the API server is away");
  };
  t.match(await until(finder(t, root, { kubeletRuntime }), ready), /^containerd /);
});

t.test("only another runtime than the kubelet's answers: that is said", async (t) => {
  const answers: Answer[] = [
    {
      path: "/run/containerd.sock",
      outcome: "usable",
      detail: "",
      runtimeName: "containerd",
      runtimeVersion: "1.7",
    },
  ];
  const choice = chooseRuntime(answers, { socketFile: "", roots: ["/run"] }, "docker://24");
  t.equal(choice.chosen, undefined);
  t.match("reason" in choice ? choice.reason : "", "uses docker, but only containerd answered");
});

t.test("settings name sockets in several ways", async (t) => {
  const roots = ["/hostvarrun"];
  t.same(candidatePaths({ socketFile: "cri-dockerd.sock", roots }), ["/hostvarrun/cri-dockerd.sock"]);
  t.same(candidatePaths({ socketFile: "a.sock, unix:///x/b.sock", roots }), [
    "/hostvarrun/a.sock",
    "/x/b.sock",
  ]);
});
