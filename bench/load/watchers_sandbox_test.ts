import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import t from "tap";
import { seededRandom, systemClock } from "../../kube/index.ts";
import { startSandbox } from "../../sandbox/index.ts";
import { connect } from "../connection.ts";
import { BenchError } from "../errors.ts";
import { BENCH_LABEL, podObjects } from "../resources.ts";
import { startWatchers } from "./watchers.ts";

const run = "run-1";
const clock = systemClock;

t.test("each client watches the pods of the run and reads each that changed", async (t) => {
  const sandbox = await startSandbox({ seed: 1, clock, nodes: 0 });
  t.teardown(() => sandbox.stop());
  const file = join(t.testdir(), "kubeconfig");
  writeFileSync(file, sandbox.kubeconfig, { mode: 0o600 });
  const reads: string[] = [];
  const { faults } = sandbox;
  const latency = faults.latency.bind(faults);
  // Asked once for each request.
  faults.latency = (target) => {
    if (target.verb === "get" && target.resource === "pods") reads.push(target.name);
    return latency(target);
  };
  const watchers = await startWatchers(2, file, run);
  t.teardown(() => watchers.stop());
  const watching = () => faults.watches({ resource: "pods" }).length;
  t.equal(watching(), 2);
  const { client } = await connect({ clock, random: seededRandom(1) }, file);
  t.teardown(() => client.close());
  const create = (name: string, labels: Record<string, string>) =>
    client.create(podObjects, "default", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels },
      spec: { containers: [{ name: "c", image: "i" }] },
    });
  await create("other", { [BENCH_LABEL]: "run-2" });
  await create("own", { [BENCH_LABEL]: run });
  while (reads.length < 2) await clock.sleep(20);
  // Each client reads it once for each change, of which there may be more than its creation.
  t.same(new Set(reads), new Set(["own"]), "the pod of another run is read by nobody");
  await watchers.stop();
  while (watching() > 0) await clock.sleep(20);
});

t.test("a client that cannot begin fails the run at once", async (t) => {
  await t.rejects(startWatchers(1, join(t.testdir(), "missing"), run), BenchError);
});

t.test("a client that waits for a silent server ends when it is no longer needed", async (t) => {
  const server = createServer(() => undefined).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const file = join(t.testdir(), "kubeconfig");
  const cluster = { name: "c", cluster: { server: `http://127.0.0.1:${port}` } };
  const context = { name: "x", context: { cluster: "c", user: "u" } };
  const config = { clusters: [cluster], users: [{ name: "u" }], contexts: [context], "current-context": "x" };
  writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "Config", ...config }));
  const asked = once(server, "connection");
  const child = spawn(process.execPath, [join(import.meta.dirname, "watcher.ts"), file, run], {
    stdio: ["pipe", "ignore", "inherit"],
  });
  const ended = once(child, "exit");
  const [socket] = await asked;
  child.stdin?.end();
  t.same(await ended, [0, null]);
  socket.destroy();
});
