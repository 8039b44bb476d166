import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import {
  type Client,
  createMetrics,
  createRegistry,
  KubeError,
  nullLog,
  systemClock,
} from "../kube/index.ts";
import { startFakeCri } from "../testkit/cri/fake_cri.ts";
import { fakeServer } from "../testkit/kube/fake_server.ts";
import { agentSettings } from "./settings.ts";
import { type Agent, startAgent } from "./start.ts";

/** As the silent one, with created events kept. */
function emptyServer(events: Record<string, unknown>[]): Client {
  return {
    ...fakeServer({ streamingLists: false }).client,
    async create(resource, _, body) {
      events.push(Object.fromEntries(Object.entries(body)));
      return resource.codec.decode(Buffer.from(JSON.stringify(body)), "application/json");
    },
  };
}

interface Running {
  readonly agent: Agent;
  readonly events: Record<string, unknown>[];
  readonly root: string;
  get(path: string): Promise<{ status: number; text: string }>;
}

async function run(t: Test, client?: (events: Record<string, unknown>[]) => Client): Promise<Running> {
  const root = await mkdtemp(join(tmpdir(), "refit-agent-"));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  const events: Record<string, unknown>[] = [];
  const settings = agentSettings(
    ["--addr=127.0.0.1:0", `--state-dir=${join(root, "state")}`, "--direct-swap"],
    { NODE_NAME: "node-1" },
    () => false,
  );
  const registry = createRegistry();
  const agent = await startAgent({
    settings: { ...settings, socketRoots: [root] },
    client: (client ?? emptyServer)(events),
    clock: systemClock,
    random: () => 0.5,
    log: nullLog,
    metrics: createMetrics(registry),
    registry,
  });
  t.teardown(() => agent.stop());
  return {
    agent,
    events,
    root,
    async get(path) {
      const answer = await fetch(`http://127.0.0.1:${agent.port}${path}`);
      return { status: answer.status, text: await answer.text() };
    },
  };
}

/** Looks until it is so; the test's own limit ends it otherwise. */
async function eventually<T>(look: () => Promise<T>, wanted: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await look();
    if (wanted(value)) return value;
    await systemClock.sleep(10);
  }
}

t.test(
  "without a runtime: alive, not ready, the reason everywhere, and ready when a socket appears",
  async (t) => {
    const { agent, events, root, get } = await run(t);
    const waiting = await eventually(
      () => get("/readyz"),
      ({ text }) => text.includes("not found"),
    );
    t.equal(waiting.status, 503);
    t.match(
      waiting.text,
      /check containerRuntime failed, err: not found container runtime sock.*--socket-file/,
    );
    t.same(await get("/healthz"), { status: 200, text: "ok" });
    const event = (reason: string) => events.find((one) => one["reason"] === reason);
    await eventually(
      async () => event("ContainerRuntimeNotFound"),
      (found) => found !== undefined,
    );
    t.match(event("ContainerRuntimeNotFound"), {
      type: "Warning",
      involvedObject: { kind: "Node", name: "node-1" },
    });
    const cri = await startFakeCri({ socket: join(root, "containerd.sock"), clock: systemClock });
    t.teardown(() => cri.stop());
    await eventually(
      () => get("/readyz"),
      ({ status }) => status === 200,
    );
    t.equal(agent.finder.current?.name, "containerd");
    await eventually(
      async () => event("ContainerRuntimeFound"),
      (found) => found !== undefined,
    );
    const metrics = await get("/metrics");
    t.match(metrics.text, /kruise_daemon_runtime_ready\{name="containerd",version="[^"]+"\} 1/);
    t.match(metrics.text, "kruise_daemon_cri_request_duration_seconds_count");
  },
);

t.test("an API server that does not answer leaves it alive and says which watches are missing", async (t) => {
  const away = (): Client => ({
    ...emptyServer([]),
    list: async () => {
      throw new KubeError("Network", "connection refused");
    },
    watch: async () => {
      throw new KubeError("Network", "connection refused");
    },
  });
  const { root, get } = await run(t, away);
  const cri = await startFakeCri({ socket: join(root, "containerd.sock"), clock: systemClock });
  t.teardown(() => cri.stop());
  const answer = await eventually(
    () => get("/readyz"),
    ({ text }) => !text.includes("containerRuntime"),
  );
  t.equal(answer.status, 503);
  t.match(answer.text, "check nodeImageInformerSynced failed, err: not synced");
  t.match(answer.text, "check crrInformerSynced failed, err: not synced");
  t.equal((await get("/healthz")).status, 200);
});

t.test("a taken port is an error at once", async (t) => {
  const { agent } = await run(t);
  const registry = createRegistry();
  const settings = agentSettings([`--addr=127.0.0.1:${agent.port}`], { NODE_NAME: "n" }, () => false);
  const second = startAgent({
    settings,
    client: emptyServer([]),
    clock: systemClock,
    random: () => 0.5,
    log: nullLog,
    metrics: createMetrics(registry),
    registry,
  });
  await t.rejects(second, { code: "EADDRINUSE" });
});
