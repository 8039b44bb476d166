import t from "tap";
import { UsageError } from "./errors.ts";
import { amountOf, shareOf } from "./scenario.ts";
import { runSettings } from "./settings.ts";
import { parseDelay, parseShare } from "./timing.ts";

const refused: readonly [args: string, says: RegExp][] = [
  ["", /name a scenario/],
  ["rollout scale", /one scenario at a time, not 2: rollout scale/],
  ["rollup", /there is no scenario "rollup"; there are create, .*rollout/],
  ["rollout --pods 0", /--pods must be a whole number from 1 to 100000, not "0"/],
  ["rollout --pods 1000000", /--pods must be a whole number from 1 to 100000/],
  ["rollout --pods 10,x", /--pods .* not "x"/],
  ["rollout --nodes 5001", /--nodes must be a whole number from 1 to 5000/],
  ["rollout --pods 100000 --nodes 10", /100000 pods need at least 200 nodes/],
  ["rollout --pid 7", /--pid needs --kubeconfig/],
  ["rollout --metrics-url http://x/metrics", /--metrics-url is for a manager named by --pid/],
  ["rollout --kubeconfig f --pid 7 --metrics-url metrics", /--metrics-url must be an http or https URL/],
  ["rollout --kubeconfig f --pid 7 --controller x", /--controller is started by the bench: leave out --pid/],
  [
    "rollout --kubeconfig f --pid 7 --controller-flag=--stage-metrics",
    /--controller-flag is for the controller that the bench starts: leave out --pid/,
  ],
  [
    "rollout --kubeconfig f --pid 7 --allocations d",
    /--allocations is of a manager that the bench starts: leave out --pid/,
  ],
  ["restart --allocations d", /restart has no single process from beginning to end: leave out --allocations/],
  ["restart --kubeconfig f --pid 7", /restart ends and starts the manager: leave out --pid/],
  ["rollout --max-unavailable half", /--max-unavailable must be a whole number/],
  ["rollout --max-unavailable 200%", /--max-unavailable must be a percentage/],
  ["partition --steps 90%,x%", /--steps must be a percentage like 1%, not "x%"/],
  ["rollout --start fast", /--start must be milliseconds like 200, 100-400 or 100-4000:tail, not "fast"/],
  ["rollout --start 400-100", /--start must be milliseconds/],
  ["rollout --crash 0.1", /--crash must be a percentage like 1%, not "0.1"/],
  ["rollout --annotation key", /--annotation must be key=value, not "key"/],
  ["admission --in-flight 65", /--in-flight must be a whole number from 1 to 64/],
  ["rollout --watchers 65", /--watchers must be a whole number from 0 to 64/],
  ["rollout --cores 0", /--cores must be two numbers, such as 0,1, not "0"/],
  ["rollout --cores 0,a", /--cores must be a whole number from 0 to 1023, not "a"/],
  ["rollout --latency 1s", /--latency must be a whole number from 0 to 60000, not "1s"/],
  ["rollout --errors 2", /--errors must be a percentage like 1%, not "2"/],
  ["rollout --kubeconfig f --pid 7 --errors 2%", /--latency and --errors are .*: leave out --pid/],
  ["replicas --replicas 0", /--replicas must be a whole number from 1 to 16/],
  ["replicas --shards 65", /--shards must be a whole number from 1 to 64/],
  ["soak --minutes 0", /--minutes must be a whole number from 1 to 1440/],
  ["rollout --podz 3", /Unknown option '--podz'/],
];

for (const [args, says] of refused) {
  t.test(`refused: ${args}`, async (t) => {
    t.throws(() => runSettings(args.split(" ").filter((word) => word !== "")), { message: says });
  });
}

t.test("wrong arguments show the usage", async (t) => {
  t.throws(() => runSettings(["rollout", "--pods", "x"]), UsageError);
});

t.test("several sizes, delays and annotations are read", async (t) => {
  const settings = runSettings(
    "rollout --pods 100,1000 --nodes 20 --start 100-4000:tail --crash 1% --annotation a=b=c --seed 9".split(
      " ",
    ),
  );
  t.same(settings.sizes, [100, 1000]);
  t.equal(settings.nodes, 20);
  t.same(settings.behaviour.timing.start, { from: 100, to: 4000, shape: "tail" });
  t.same(settings.behaviour.failures, { crash: 0.01, pull: 0 });
  t.same(settings.annotations, { a: "b=c" });
  t.match(settings.words, { a: "b=c", start: "100-4000:tail" }, "the result says what was asked");
  t.equal(runSettings(["create", "--pods", "500"]).nodes, 10, "fifty pods a node where nothing is said");
  t.same(parseDelay("250", "start"), { from: 250, to: 250 });
  t.equal(parseShare("0.5%", "crash"), 0.005);
});

t.test("an API server that is slow and fails", async (t) => {
  const settings = runSettings("rollout --latency 200 --errors 2%".split(" "));
  t.same(settings.faults, { latencyMs: 200, errors: 0.02 });
  t.match(settings.words, { latency: "200", errors: "2%" }, "the result says so");
  t.equal(runSettings(["rollout"]).faults, undefined);
});

t.test("replicas and the shards that they share", async (t) => {
  const settings = runSettings(["replicas"]);
  t.same(settings.sharing, { replicas: 4, shards: 8 });
  t.match(settings.words, { replicas: "4", shards: "8" }, "the result says so");
  t.same(runSettings("replicas --replicas 1".split(" ")).sharing, { replicas: 1, shards: 1 });
  t.same(runSettings("replicas --shards 5".split(" ")).sharing, { replicas: 4, shards: 5 });
  t.equal(runSettings(["rollout"]).sharing, undefined);
});

t.test("how full the machine is", async (t) => {
  const settings = runSettings("rollout --watchers 8 --cores 0,1".split(" "));
  t.equal(settings.watchers, 8);
  t.same(settings.cores, { manager: "0", others: "1" });
  t.match(settings.words, { watchers: "8", cores: "0,1" }, "the result says so");
  const usual = runSettings(["rollout"]);
  t.equal(usual.watchers, 0);
  t.equal(usual.cores, undefined);
  t.notOk("watchers" in usual.words || "cores" in usual.words, "and nothing where nothing was asked");
});

t.test("amounts of pods", async (t) => {
  t.equal(amountOf("10%", 25), 3, "rounded up");
  t.equal(amountOf("0", 25), 1, "at least one");
  t.equal(shareOf("0", 25), 0);
  t.equal(shareOf("7", 25), 7);
});
