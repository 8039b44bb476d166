/** `refit logs` with a server whose logs the test writes, breaks and ends. */
import t, { type Test } from "tap";
import { KubeError } from "../../kube/index.ts";
import { run } from "../../testkit/cli/command_fixture.ts";
import { fakeCluster } from "../../testkit/cli/fake_cluster.ts";
import { cloneSet } from "../../testkit/cli/workload_builder.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { toAnyObject } from "../fields.ts";

const clones = "clonesets.apps.kruise.io";

/** One stream that a command opened. */
class Stream {
  readonly path: string;
  readonly #sent: (string | KubeError | undefined)[] = [];
  #wake: () => void = () => undefined;

  constructor(path: string, signal: AbortSignal) {
    this.path = path;
    signal.addEventListener("abort", () => this.#send(new KubeError("Aborted", "aborted")));
  }

  write(...lines: string[]): void {
    for (const line of lines) this.#send(`2026-01-01T00:00:${line}\n`);
  }

  end(): void {
    this.#send(undefined);
  }

  break(code: "Network" | "NotFound" | "Forbidden" | "BadRequest" = "Network"): void {
    this.#send(new KubeError(code, `pods "x" is forbidden`));
  }

  #send(part: string | KubeError | undefined): void {
    this.#sent.push(part);
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      while (this.#sent.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
      const part = this.#sent.shift();
      if (part === undefined) return;
      if (part instanceof KubeError) throw part;
      yield Buffer.from(part);
    }
  }
}

interface PodState {
  readonly uid?: string;
  /** Number of the run, below zero once it has ended. */
  readonly run: number;
  readonly last?: number;
  readonly containers?: readonly string[];
}

function pod(name: string, { uid = name, run, last, containers = ["nginx"] }: PodState) {
  const ended = (id: number) => ({
    terminated: { containerID: `c://${id}`, startedAt: "2026-01-01T00:00:00Z" },
  });
  const statuses = containers.map((container) => ({
    name: container,
    ...(run > 0 ? { containerID: `c://${run}` } : {}),
    state: run > 0 ? { running: {} } : run < 0 ? ended(-run) : { waiting: { reason: "ContainerCreating" } },
    ...(last === undefined ? {} : { lastState: ended(last) }),
  }));
  return toAnyObject({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", uid, labels: { app: "web" } },
    spec: { containers: containers.map((container) => ({ name: container })) },
    status: { containerStatuses: statuses },
  });
}

/** `refit logs -f clone/web` while the test changes pods and logs. */
function following(t: Test, pods: readonly ReturnType<typeof pod>[], flags = "") {
  const streams: Stream[] = [];
  const cluster = fakeCluster({
    stream: (path, signal) => {
      const stream = new Stream(path, signal);
      streams.push(stream);
      return stream;
    },
  });
  const set = cloneSet("web");
  cluster.put(clones, set);
  for (const each of pods) cluster.put("pods", each);
  const clock = testClock();
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  let out = "";
  let warned = "";
  const ended = run(`logs -f clone/web ${flags}`, {
    client: cluster.client,
    host: { clock },
    io: {
      signal: stop.signal,
      stdout: { write: (text: string) => (out += text) },
      stderr: { write: (text: string) => (warned += text) },
    },
  });
  /** The stream that is the `count`th to be opened; within a minute. */
  const opened = async (count: number): Promise<Stream> => {
    for (let waitedMs = 0; streams.length < count && waitedMs < 60_000; waitedMs += 100)
      await clock.advance(100);
    const stream = streams[count - 1];
    if (stream === undefined) throw new Error(`no stream ${count}`);
    return stream;
  };
  const settled = async () => {
    await clock.settle();
    return out;
  };
  return { cluster, clock, stop, streams, opened, settled, ended, out: () => out, warned: () => warned };
}

t.test("pods that come later are followed, and pods that go end quietly", async (t) => {
  const { cluster, opened, settled, stop, streams, ended, warned } = following(t, [pod("web-a", { run: 1 })]);
  const a = await opened(1);
  t.equal(
    a.path,
    "/api/v1/namespaces/default/pods/web-a/log?container=nginx&timestamps=true&follow=true&tailLines=10",
  );
  a.write("01.0Z one");
  cluster.put("pods", pod("web-b", { run: 0 }));
  t.equal(await settled(), "[pod/web-a/nginx] one\n");
  t.equal(streams.length, 1, "nothing is asked of a container that has not begun");
  cluster.put("pods", pod("web-b", { run: 2 }));
  const b = await opened(2);
  t.match(b.path, /pods\/web-b\/log\?container=nginx&timestamps=true&follow=true$/, "from its beginning");
  b.write("02.0Z two");
  a.end();
  cluster.put("pods", pod("web-a", { run: -1 }));
  cluster.remove("pods", "default/web-a");
  t.match(await settled(), /one\n\[pod\/web-b\/nginx\] two\n$/);
  stop.abort();
  t.match(await ended, { code: 130 });
  t.equal(streams.length, 2);
  t.equal(warned(), "");
});

t.test(
  "a stream that breaks is opened again where it was; so is one that ends while its container runs",
  async (t) => {
    const { opened, settled } = following(t, [pod("web-a", { run: 1 })], "--timestamps --prefix=false");
    const first = await opened(1);
    first.write("01.1Z one", "01.1Z two");
    first.break();
    const second = await opened(2);
    t.match(second.path, /follow=true&sinceTime=2026-01-01T00%3A00%3A01.1Z$/);
    second.write("01.0Z zero", "01.1Z one", "01.1Z two", "01.1Z three");
    second.end();
    const third = await opened(3);
    third.write("01.1Z one", "01.1Z two", "01.1Z three", "02.0Z four");
    const times = (text: string) => text.replaceAll("2026-01-01T00:00:", "");
    t.equal(times(await settled()), "01.1Z one\n01.1Z two\n01.1Z three\n02.0Z four\n");
  },
);

t.test("a container that restarts is taken up again, with the end that a broken stream missed", async (t) => {
  const { cluster, opened, settled, streams } = following(t, [pod("web-a", { run: 1 })]);
  const first = await opened(1);
  first.write("01.0Z one");
  await settled();
  first.break();
  cluster.put("pods", pod("web-a", { run: 2, last: 1 }));
  const rest = await opened(2);
  t.match(rest.path, /previous=true&sinceTime=/);
  rest.write("01.0Z one", "02.0Z last words");
  rest.end();
  const second = await opened(3);
  t.match(second.path, /follow=true&sinceTime=2026-01-01T00%3A00%3A02.0Z$/);
  second.write("03.0Z hello again");
  second.end();
  cluster.put("pods", pod("web-a", { run: -2 }));
  cluster.put("pods", pod("web-a", { run: 3, last: 2 }));
  const third = await opened(4);
  t.match(third.path, /follow=true/, "the whole of the run before was read");
  third.write("03.0Z hello again", "04.0Z third");
  t.equal((await settled()).replaceAll("[pod/web-a/nginx] ", ""), "one\nlast words\nhello again\nthird\n");
  t.equal(streams.length, 4);
});

t.test("a pod that comes again under its name is read from its beginning", async (t) => {
  const { cluster, opened, settled } = following(t, [pod("web-0", { uid: "old", run: 1 })]);
  (await opened(1)).write("30.0Z old");
  await settled();
  (await opened(1)).end();
  cluster.remove("pods", "default/web-0");
  cluster.put("pods", pod("web-0", { uid: "new", run: 2 }));
  const again = await opened(2);
  t.match(again.path, /follow=true$/);
  // The clock of its node is behind.
  again.write("29.0Z new");
  t.match(await settled(), /old\n.*new\n$/);
});

t.test("which containers", async (t) => {
  const both = ["web", "proxy"];
  const marked = toAnyObject({
    ...pod("web-b", { run: 2, containers: both }),
    metadata: {
      ...pod("web-b", { run: 2 }).metadata,
      annotations: { "kubectl.kubernetes.io/default-container": "proxy" },
    },
  });
  const pods = [pod("web-a", { run: 1, containers: both }), marked];
  const asked = async (flags: string, count: number) => {
    const { opened, streams } = following(t, pods, flags);
    await opened(count);
    return streams.map(({ path }) =>
      /pods\/(.*)&timestamps/.exec(path)?.[1]?.replace("/log?container=", "/"),
    );
  };
  t.same(await asked("", 2), ["web-a/web", "web-b/proxy"]);
  t.same(await asked("-c web", 2), ["web-a/web", "web-b/web"]);
  t.same(await asked("--all-containers", 4), ["web-a/web", "web-a/proxy", "web-b/web", "web-b/proxy"]);
});

t.test("streams are bounded: refused at the start, later pods wait until one ends", async (t) => {
  const many = ["a", "b", "c"].map((letter, index) => pod(`web-${letter}`, { run: index + 1 }));
  t.match(await following(t, many, "--max-log-requests 2").ended, { code: 1 });
  const refused = following(t, many, "--max-log-requests 2");
  await refused.ended;
  t.match(refused.warned(), /attempting to follow 3 log streams, but maximum allowed concurrency is 2/);
  t.equal(refused.streams.length, 0);

  const { cluster, opened, settled, streams, warned } = following(
    t,
    many.slice(0, 2),
    "--max-log-requests=2",
  );
  const first = await opened(2).then(() => opened(1));
  cluster.put("pods", pod("web-c", { run: 3 }));
  cluster.put("pods", pod("web-d", { run: 4 }));
  await settled();
  t.equal(
    warned(),
    "2 logs are followed, as many as --max-log-requests allows: the next pods wait until one ends\n",
  );
  t.equal(streams.length, 2);
  cluster.put("pods", pod("web-a", { run: -1 }));
  await settled();
  first.end();
  t.match((await opened(3)).path, /web-c/);
});

t.test("it ends when the workload is gone and its pods are read", async (t) => {
  const { cluster, opened, settled, ended } = following(t, [pod("web-a", { run: 1 })]);
  const stream = await opened(1);
  cluster.remove(clones, "default/web");
  await settled();
  stream.write("01.0Z last words");
  cluster.put("pods", pod("web-a", { run: -1 }));
  await settled();
  stream.end();
  t.match(await ended, { code: 0 });
  t.match(await settled(), /last words\n$/);
});

t.test("a pod that is gone ends quietly; a refusal ends all with one line", async (t) => {
  const gone = following(t, [pod("web-a", { run: 1 })]);
  (await gone.opened(1)).break("NotFound");
  await gone.clock.advance(60_000);
  t.same([gone.streams.length, gone.warned()], [1, ""]);
  const refused = following(t, [pod("web-a", { run: 1 })]);
  (await refused.opened(1)).break("Forbidden");
  t.match(await refused.ended, { code: 1 });
  t.match(refused.warned(), /^error: .*forbidden.*\n$/i);
});

t.test("words that it does not take", async (t) => {
  const said = async (words: string) => {
    const { ended, warned } = following(t, [], words);
    return [(await ended).code, warned()].join(" ");
  };
  t.match(await said("--previously"), /1 .*unknown flag --previously/);
  t.match(await said("--tail x"), /1 .*invalid value "x" for --tail/);
  t.match(await said("--since-time yesterday"), /1 .*invalid value "yesterday" for --since-time/);
  t.match(await said("--since 5m --since-time 2026-01-01T00:00:00Z"), /1 .*either --since or --since-time/);
  t.match(await said("-c a --all-containers"), /1 .*either -c or --all-containers/);
  t.match(await said("other"), /1 .*follows one workload; what is "other"/);
});
