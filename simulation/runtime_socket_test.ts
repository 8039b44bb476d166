/** What an agent hears of a runtime that is in trouble. */
import t, { type Test } from "tap";
import { isAgentError } from "../agent/index.ts";
import { seededRandom } from "../kube/index.ts";
import { methods } from "../proto/cri/index.ts";
import { SimulatedCluster } from "./cluster.ts";
import { socketPath } from "./runtime_socket.ts";
import { ProcessClock } from "./virtual_clock.ts";

function told(t: Test) {
  const cluster = new SimulatedCluster({
    seed: 1,
    replicas: 1,
    shards: 1,
    nodes: 1,
    namespaces: [],
    agents: true,
    log: () => undefined,
    refused: () => undefined,
    unexpected: () => undefined,
  });
  t.teardown(() => cluster.stop());
  const runtime = cluster.agents?.runtime("node1");
  if (runtime === undefined) throw new Error("no runtime");
  const clock = new ProcessClock(cluster.clock);
  const pulls: string[] = [];
  const sockets = runtime.sockets({
    clock,
    random: seededRandom(1),
    stops: () => undefined,
    pulls: (type) => pulls.push(type),
  });
  const client = sockets.connect(socketPath, { clock });
  const image = { image: { image: "web:1" } };
  /** What became of a call in the time that passes. */
  const outcome = async (call: Promise<unknown>, ms: number): Promise<string> => {
    let ended = "nothing yet";
    call.then(
      () => {
        ended = "OK";
      },
      (error: unknown) => {
        ended = isAgentError(error) ? error.code : `not an AgentError: ${error}`;
      },
    );
    await cluster.clock.pass(ms);
    return ended;
  };
  return {
    runtime,
    pulls,
    clock: cluster.clock,
    outcome,
    pull: () => client.call(methods.PullImage, image),
    look: () => client.call(methods.ImageStatus, image),
  };
}

t.test(
  "one that dies in the midst of a pull breaks it off, and refuses others until it is back",
  async (t) => {
    const { runtime, outcome, pull, look, pulls } = told(t);
    runtime.afterCalls(1, () => void runtime.fail("dies"));
    t.equal(await outcome(pull(), 1_000), "Unavailable");
    t.notOk(pulls.includes("pulled"));
    t.equal(await outcome(look(), 10), "Unavailable");
    runtime.fail("dies")();
    t.equal(await outcome(look(), 10), "OK");
  },
);

t.test("one that hangs answers late or never: the agent's deadline is what ends a call", async (t) => {
  const { runtime, outcome, look } = told(t);
  const goOn = runtime.fail("hangs");
  t.equal(await outcome(look(), 9_999), "nothing yet");
  t.equal(await outcome(look(), 10_100), "Timeout");
  goOn();
  t.equal(await outcome(look(), 10), "OK");
});

t.test("garbage ends as an answer or as an AgentError", async (t) => {
  const { runtime, outcome, look } = told(t);
  runtime.fail("garbage");
  const outcomes = new Set<string>();
  for (let calls = 0; calls < 60; calls++) outcomes.add(await outcome(look(), 10));
  t.ok(outcomes.has("Decode"));
  t.same(
    [...outcomes].filter((each) => /nothing|not an/.test(each)),
    [],
  );
});

t.test("a pull that would end while pulls are held never does", async (t) => {
  const { runtime, outcome, pull, clock } = told(t);
  const letGo = runtime.holdPulls();
  const held = outcome(pull(), 2_000);
  t.equal(await held, "nothing yet");
  letGo();
  t.equal(runtime.troubledAt, clock.monotonic());
  t.equal(await outcome(pull(), 2_000), "OK");
});
