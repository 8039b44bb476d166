import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { SimulatedCluster } from "./cluster.ts";

t.test(
  "nothing is left of a cluster that was stopped, though replicas and agents died in the middle of their requests",
  async (t) => {
    setFlagsFromString("--expose-gc");
    const collect: unknown = runInNewContext("gc");
    const tell = async (): Promise<WeakRef<object>> => {
      const cluster = new SimulatedCluster({
        seed: 1,
        replicas: 2,
        shards: 1,
        nodes: 1,
        namespaces: ["blue"],
        agents: true,
        log: () => undefined,
        refused: () => undefined,
        unexpected: (_, where) => t.fail(where),
      });
      await cluster.clock.pass(5_000);
      cluster.kill(0);
      cluster.start(0);
      cluster.agents?.kill("node1");
      cluster.agents?.start("node1");
      await cluster.clock.pass(5_000);
      t.ok(
        cluster.replicas.every(({ serves }) => serves),
        "its replicas have their watches",
      );
      await cluster.stop();
      return new WeakRef(cluster.clock);
    };
    const clock = await tell();
    for (let round = 0; round < 10 && clock.deref() !== undefined; round++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (typeof collect === "function") collect();
    }
    t.equal(clock.deref(), undefined);
  },
);
