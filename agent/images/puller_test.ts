import t from "tap";
import type { NodeImage, NodeImageSpec, NodeImageStatus } from "../../crds/index.ts";
import { applyMergePatch, nullLog, nullMetrics } from "../../kube/index.ts";
import type { PullTask } from "../../node/index.ts";
import { type TestClock, testClock } from "../../testkit/kube/fake_clock.ts";
import { AgentError } from "../errors.ts";
import { StatusWriter } from "../status_writer.ts";
import type { Login } from "./docker_config.ts";
import type { ImageService, PullRequest } from "./image_service.ts";
import { Puller, type PullerDependencies } from "./puller.ts";

type TagSpec = NonNullable<NodeImageSpec["images"]>[string]["tags"][number];

interface Bench {
  readonly clock: TestClock;
  readonly pulls: PullRequest[];
  readonly events: string[];
  readonly writes: NodeImageStatus[];
  readonly finished: (readonly PullTask[])[];
  /** What a pull does; may wait on the clock. */
  onPull: (request: PullRequest, signal: AbortSignal) => Promise<void>;
  onNode: Set<string>;
  logins: readonly Login[];
  /** Names of the secrets, in the order in which logins were asked for. */
  readonly asked: string[];
  runtime: boolean;
  /** Looks at images fail. */
  isLost: boolean;
  set(tags: readonly TagSpec[], image?: string, secrets?: readonly string[]): void;
  tag(
    tag: string,
    image?: string,
  ): Partial<NonNullable<NodeImageStatus["imageStatuses"]>[string]["tags"][number]>;
  puller: Puller;
}

function bench(maxPulls = 0, known: readonly PullTask[] = []): Bench {
  const clock = testClock();
  let server: NodeImageStatus | undefined;
  const images: ImageService = {
    get missing() {
      return b.runtime ? undefined : "not found container runtime sock";
    },
    present: async (reference) => {
      if (b.isLost) throw new AgentError("Unavailable", "connection reset");
      return b.onNode.has(reference) ? "sha256:1d" : undefined;
    },
    async pull(request, signal) {
      b.pulls.push(request);
      await b.onPull(request, signal);
      b.onNode.add(request.reference);
    },
  };
  const status = new StatusWriter<NodeImageStatus>({
    clock,
    log: nullLog,
    write: async (next) => {
      b.writes.push(next);
      server = next;
      return next;
    },
  });
  const dependencies: PullerDependencies = {
    clock,
    log: nullLog,
    metrics: nullMetrics,
    agentMetrics: { pulled: () => undefined },
    settings: { maxPulls, nodeName: "node-1" },
    images,
    keyring: {
      logins: async (secrets) => {
        b.asked.push(secrets.map(({ name }) => name).join(","));
        return [...b.logins];
      },
    },
    status,
    recorder: {
      event: ({ kind, name }, type, reason, message) =>
        b.events.push(`${kind} ${name} ${type} ${reason} ${message}`),
    },
    finished: (tasks) => b.finished.push(tasks),
  };
  const b: Bench = {
    clock,
    pulls: [],
    events: [],
    writes: [],
    finished: [],
    onPull: async () => undefined,
    onNode: new Set(),
    logins: [],
    asked: [],
    runtime: true,
    isLost: false,
    set(tags, image = "nginx", secrets = []) {
      const nodeImage: NodeImage = {
        metadata: { name: "node-1" },
        spec: {
          images: {
            [image]: {
              tags: [...tags],
              pullSecrets: secrets.map((name) => ({ namespace: "kruise-daemon-config", name })),
              sandboxConfig: { labels: { l: "1" }, annotations: { a: "2" } },
            },
          },
        },
        ...(server ? { status: server } : {}),
      };
      b.puller.update(nodeImage);
    },
    tag: (tag, image = "nginx") =>
      b.writes.at(-1)?.imageStatuses?.[image]?.tags.find((one) => one.tag === tag) ?? {},
    puller: new Puller(dependencies, known),
  };
  return b;
}

const policy = { timeoutSeconds: 600, backoffLimit: 3, ttlSecondsAfterFinished: 60 };

t.test("pulls, reports and says how long it took", async (t) => {
  const b = bench();
  b.onPull = (_, signal) => b.clock.sleep(1500, signal);
  b.set([{ tag: "1", pullPolicy: policy }]);
  await b.clock.settle();
  t.match(b.tag("1"), { phase: "Pulling" });
  await b.clock.advance(1600);
  t.match(b.tag("1"), { phase: "Succeeded", progress: 100, imageID: "nginx@sha256:1d" });
  t.same(b.events, ["NodeImage node-1 Normal PullImageSucceed Image nginx:1, ecalpsedTime 1.5s"]);
  t.match(b.pulls[0], {
    reference: "nginx:1",
    login: undefined,
    labels: { l: "1" },
    annotations: { a: "2", "apps.kruise.io/pulling-image-by": "kruise-daemon" },
  });
  t.equal(b.finished.at(-1)?.length, 1);
});

t.test(
  "a pull that the runtime ended well is not pulled again, though it goes away before it is looked at",
  async (t) => {
    const b = bench();
    b.onPull = async () => {
      b.isLost = true;
    };
    b.set([{ tag: "1", pullPolicy: policy }]);
    await b.clock.advance(5_000);
    t.match(b.tag("1"), { phase: "Succeeded", progress: 100, imageID: undefined });
    t.equal(b.pulls.length, 1);
  },
);

t.test("IfNotPresent and on the node: no pull; Always: one pull", async (t) => {
  const b = bench();
  b.onNode.add("nginx:1").add("nginx:2");
  b.set([
    { tag: "1", imagePullPolicy: "IfNotPresent" },
    { tag: "2", imagePullPolicy: "Always" },
  ]);
  await b.clock.advance(3000);
  t.same(
    b.pulls.map((pull) => pull.reference),
    ["nginx:2"],
  );
  t.match(b.writes.at(-1), { succeeded: 2 });
});

t.test(
  "backoffLimit 1: two attempts a second apart, then Failed and events for node and owners",
  async (t) => {
    const b = bench();
    b.onPull = async () => {
      throw new AgentError("Runtime", "registry says no");
    };
    b.set([
      { tag: "1", pullPolicy: { ...policy, backoffLimit: 1 }, ownerReferences: [{ name: "job", uid: "u" }] },
    ]);
    await b.clock.settle();
    t.equal(b.pulls.length, 1);
    await b.clock.advance(999);
    t.equal(b.pulls.length, 1);
    await b.clock.advance(1);
    t.equal(b.pulls.length, 2);
    await b.clock.advance(60_000);
    t.equal(b.pulls.length, 2);
    t.match(b.tag("1"), {
      phase: "Failed",
      message: 'Failed to pull image reference "nginx:1": registry says no',
    });
    const failed =
      'Warning PullImageFailed Image nginx:1 Failed to pull image reference "nginx:1": registry says no';
    t.same(b.events, [`NodeImage node-1 ${failed}`, `ImagePullJob job ${failed}`]);
  },
);

t.test("a hanging pull is cut off at each timeout and at the deadline", async (t) => {
  const b = bench();
  b.onPull = (_, signal) => b.clock.sleep(3_600_000, signal);
  b.set([{ tag: "1", pullPolicy: { ...policy, timeoutSeconds: 5, backoffLimit: 0 } }]);
  await b.clock.advance(6000);
  t.match(b.tag("1"), { phase: "Failed", message: "pulling image nginx:1 is canceled" });
  b.set([{ tag: "2", pullPolicy: { ...policy, timeoutSeconds: 5, activeDeadlineSeconds: 8 } }]);
  await b.clock.advance(20_000);
  t.match(b.tag("2"), { phase: "Failed", message: "pulling exceeds the activeDeadlineSeconds" });
});

t.test("a version bump cancels the pull and starts another; a removed tag is stopped", async (t) => {
  const b = bench();
  const cancelled: string[] = [];
  b.onPull = (request, signal) =>
    b.clock.sleep(10_000, signal).catch((error: unknown) => {
      cancelled.push(request.reference);
      throw error;
    });
  b.set([{ tag: "1", version: 0, pullPolicy: policy }]);
  await b.clock.advance(1000);
  b.set([{ tag: "1", version: 1, pullPolicy: policy }]);
  await b.clock.advance(1000);
  t.same(cancelled, ["nginx:1"]);
  t.equal(b.pulls.length, 2);
  b.set([]);
  await b.clock.advance(20_000);
  t.equal(cancelled.length, 2);
  t.same(b.events, []);
  t.equal(b.writes.at(-1)?.desired, 0);
});

t.test("logins are tried in turn, and there is no anonymous attempt after them", async (t) => {
  const b = bench();
  b.logins = [
    { username: "wrong", password: "x" },
    { username: "right", password: "x" },
  ];
  b.onPull = async ({ login }) => {
    if (login?.username !== "right") throw new AgentError("Runtime", "401");
  };
  b.set([{ tag: "1", pullPolicy: policy }]);
  await b.clock.settle();
  t.match(b.tag("1"), { phase: "Succeeded" });
  b.logins = [{ username: "wrong", password: "x" }];
  b.set([{ tag: "2", pullPolicy: { ...policy, backoffLimit: 0 } }]);
  await b.clock.advance(5000);
  t.match(b.tag("2"), { phase: "Failed" });
  t.notOk(b.pulls.some((pull) => pull.login === undefined));
});

t.test("a secret that comes while the pull runs is used by its next attempt", async (t) => {
  const b = bench();
  b.onPull = async () => {
    throw new AgentError("Runtime", "denied");
  };
  const tags = [{ tag: "1", pullPolicy: { ...policy, backoffLimit: 2 } }];
  b.set(tags);
  await b.clock.settle();
  b.set(tags, "nginx", ["late"]);
  await b.clock.advance(1000);
  b.set([], "nginx", []);
  await b.clock.advance(10_000);
  t.same(b.asked, ["", "late"]);
});

t.test("a hostile reference fails with a clear message and reaches no runtime", async (t) => {
  const b = bench();
  b.set([{ tag: "$(reboot)", pullPolicy: policy }], "../../etc/passwd");
  await b.clock.settle();
  t.match(b.tag("$(reboot)", "../../etc/passwd"), { phase: "Failed", message: /invalid image reference/ });
  t.equal(b.pulls.length, 0);
});

t.test("without a runtime tags wait, and start when it appears", async (t) => {
  const b = bench();
  b.runtime = false;
  b.set([{ tag: "1", pullPolicy: policy }]);
  await b.clock.settle();
  t.match(b.tag("1"), { phase: "Waiting", message: "not found container runtime sock" });
  b.runtime = true;
  b.puller.runtimeChanged();
  await b.clock.advance(5000);
  t.match(b.tag("1"), { phase: "Succeeded" });
  t.equal(b.tag("1").message, undefined);
});

t.test("at most so many at once", async (t) => {
  const b = bench(2);
  let most = 0;
  let now = 0;
  b.onPull = async (_, signal) => {
    most = Math.max(most, ++now);
    await b.clock.sleep(1000, signal);
    now--;
  };
  b.set(["1", "2", "3", "4", "5"].map((tag) => ({ tag, pullPolicy: policy })));
  await b.clock.settle();
  t.match(b.writes.at(-1), { pulling: 2, waiting: 3 });
  await b.clock.advance(20_000);
  t.equal(most, 2);
  t.equal(b.writes.at(-1)?.succeeded, 5);
});

t.test("status writes: at most five at once, then one every two seconds", async (t) => {
  const b = bench(1);
  b.onPull = (_, signal) => b.clock.sleep(100, signal);
  b.set(Array.from({ length: 40 }, (_, index) => ({ tag: `${index}`, pullPolicy: policy })));
  await b.clock.advance(1000);
  t.ok(b.writes.length <= 6, `${b.writes.length} writes in the first second`);
  await b.clock.advance(10_000);
  t.ok(b.writes.length <= 11, `${b.writes.length} writes after eleven seconds`);
  t.equal(b.writes.at(-1)?.succeeded, 40);
});

t.test("what was finished before a crash is not pulled again", async (t) => {
  const before = bench();
  before.set([{ tag: "1", version: 4, imagePullPolicy: "Always", pullPolicy: policy }]);
  await before.clock.settle();
  const after = bench(0, before.finished.at(-1));
  after.set([{ tag: "1", version: 4, imagePullPolicy: "Always", pullPolicy: policy }]);
  await after.clock.settle();
  t.equal(after.pulls.length, 0);
  t.match(after.tag("1"), { phase: "Succeeded", version: 4 });
});

t.test("nor where the clock of who asked for it is ahead; what was asked for since is", async (t) => {
  const before = bench();
  const tag = { tag: "1", version: 4, imagePullPolicy: "Always", pullPolicy: policy };
  const createdAt = new Date(before.clock.now() + 60_000).toISOString();
  before.set([{ ...tag, createdAt }]);
  await before.clock.settle();
  const after = bench(0, before.finished.at(-1));
  after.set([{ ...tag, createdAt }]);
  await after.clock.settle();
  t.equal(after.pulls.length, 0);
  const since = bench(0, before.finished.at(-1));
  since.set([{ ...tag, createdAt: new Date(before.clock.now() + 61_000).toISOString() }]);
  await since.clock.settle();
  t.equal(since.pulls.length, 1);
});

for (const when of ["while it ran", "after it"])
  t.test(`nor where the controller dated it anew ${when}, as its clock had been ahead`, async (t) => {
    const before = bench();
    before.onPull = (_, signal) => before.clock.sleep(1000, signal);
    const tag = { tag: "1", version: 4, imagePullPolicy: "Always", pullPolicy: policy };
    const ahead = { ...tag, createdAt: new Date(before.clock.now() + 60_000).toISOString() };
    const anew = { ...tag, createdAt: new Date(before.clock.now()).toISOString() };
    before.set([ahead]);
    if (when === "after it") await before.clock.advance(2000);
    before.set([anew]);
    await before.clock.advance(2000);
    t.equal(before.pulls.length, 1);
    const after = bench(0, before.finished.at(-1));
    after.set([anew]);
    await after.clock.settle();
    t.equal(after.pulls.length, 0);
  });

t.test("a status that another writer changed is written again", async (t) => {
  const b = bench();
  b.set([{ tag: "1", pullPolicy: policy }]);
  await b.clock.advance(5000);
  const count = b.writes.length;
  const foreign = applyMergePatch({}, { desired: 1, failed: 1 });
  b.puller.update({
    metadata: { name: "node-1" },
    spec: { images: { nginx: { tags: [{ tag: "1", pullPolicy: policy }] } } },
    status: { desired: 1, ...foreign },
  });
  await b.clock.advance(3000);
  t.equal(b.writes.length, count + 1);
});
