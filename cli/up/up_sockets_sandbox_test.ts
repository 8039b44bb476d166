import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import t from "tap";
import {
  isOnLoopback,
  type ListeningSocket,
  listeningSockets,
  processesOfGroup,
} from "../../testkit/kube/listening_sockets.ts";
import { freePort, isFree } from "../free_port.ts";

t.test("the process of `refit up` listens on loopback alone", async (t) => {
  const flags = "--timing fast --pods 2 --nodes 1 --seed 4 --feature-gates ResourceDistributionGate=true";
  const kubeconfig = join(t.testdir(), "kubeconfig");
  const program = join(import.meta.dirname, "..", "bin.js");
  const child = spawn(
    process.execPath,
    [program, "up", ...flags.split(" "), "--kubeconfig-out", kubeconfig],
    {
      // A group of its own: whatever it starts is found by that.
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const { pid = 0 } = child;
  t.teardown(() => {
    for (const one of processesOfGroup(pid)) process.kill(one, "SIGKILL");
  });
  const said: string[] = [];
  const sockets = new Map<string, ListeningSocket>();
  // At each line that it prints: what is open only while it starts is open, too.
  const look = (): void => {
    for (const socket of listeningSockets(processesOfGroup(pid))) sockets.set(JSON.stringify(socket), socket);
  };
  const isUp = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        said.push(String(chunk));
        look();
        if (said.join("").includes("Ctrl-C")) resolve();
      });
    }
    child.once("exit", () => reject(new Error(said.join(""))));
  });
  await isUp;
  const server = Number(/Sandbox at https:\/\/127\.0\.0\.1:(\d+)/.exec(said.join(""))?.[1]);
  const all = [...sockets.values()];
  t.ok(
    all.some(({ port }) => port === server),
    "its sockets are seen",
  );
  t.equal(all.length, 3, "the API server, the webhooks and the live page, nothing else");
  t.same(
    all.filter((socket) => !isOnLoopback(socket)),
    [],
  );
  child.kill("SIGINT");
  const [code] = await once(child, "exit");
  t.equal(code, 0, said.join(""));
});

t.test("the look for a free port opens nothing beyond loopback either", async (t) => {
  // Who listened on all addresses would meet this one.
  const other = createServer();
  other.listen(0, "127.0.0.2");
  await once(other, "listening");
  t.teardown(() => other.close());
  const address = other.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  t.equal(await isFree(port), true);
  const taken = createServer();
  taken.listen(await freePort(), "127.0.0.1");
  await once(taken, "listening");
  t.teardown(() => taken.close());
  const where = taken.address();
  t.equal(await isFree(typeof where === "object" && where !== null ? where.port : 0), false);
});

const skip = process.platform !== "linux" && "only Linux has sockets by which a port is reserved";

t.test("a port is given once, although nobody listens on it yet", { skip }, async (t) => {
  const port = await freePort();
  t.not(await freePort(port), port);
});
