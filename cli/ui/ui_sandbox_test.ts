/** `refit ui` against a cluster with simulated nodes, read as a page reads it while a rollout goes. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import type { Client } from "../../kube/index.ts";
import { run } from "../../testkit/cli/command_fixture.ts";
import { startControlledSandbox } from "../../testkit/cli/controlled_sandbox.ts";
import { follow, startPage } from "../../testkit/cli/live_page.ts";
import { processHost } from "../host.ts";
import { ResourceTypes } from "../resource_types.ts";
import { workloads } from "../rollout/workloads.ts";
import { keptClient } from "./kept_client.ts";
import { answerKey, clusterKey, type Item, type PodItem } from "./shared/items.ts";
import { workloadItem } from "./watching/workload_item.ts";

const { sandbox, api, stopController } = await startControlledSandbox(t, {
  seed: 7,
  gates: "ImagePullJobGate=false",
});
const kubeconfig = join(t.testdir(), "kubeconfig");
writeFileSync(kubeconfig, sandbox.kubeconfig);

const clones = "/apis/apps.kruise.io/v1beta1/namespaces/default/clonesets";

const makeCloneSet = (name: string, replicas: number, container: object = {}) =>
  api.post(clones, {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "CloneSet",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      updateStrategy: { rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 2 } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: "web", image: "web:1", ...container }] },
      },
    },
  });

const page = await startPage(`--kubeconfig ${kubeconfig}`);

t.test("the word for a workload finds its type again, in commands that somebody copies", async (t) => {
  const { client } = await processHost().connect({
    kubeconfig,
    context: undefined,
    timeoutMs: undefined,
    userAgent: "test",
    env: {},
  });
  t.teardown(() => client.close());
  const types = new ResourceTypes(client);
  for (const { group, kind } of workloads) {
    const type = await types.findKind(group, kind);
    if (type === undefined) throw new Error(`${kind} is not served`);
    const item = workloadItem(type, { apiVersion: "", kind, metadata: { name: "web" } });
    t.match(await types.find(item.word.split("/")[0] ?? ""), { group, kind }, item.word);
  }
});

/** A page whose requests go through a client of the test's. */
function startPageOver(wrap: (client: Client) => Client): ReturnType<typeof startPage> {
  const host = processHost();
  return startPage(`--kubeconfig ${kubeconfig}`, {
    ...host,
    connect: async (request) => {
      const { client, namespace } = await host.connect(request);
      return { namespace, client: wrap({ ...keptClient(client), close: () => client.close() }) };
    },
  });
}

t.test("a page that nobody looks at asks for no reasons", async (t) => {
  const read: string[] = [];
  const unseen = await startPageOver((client) => ({
    ...client,
    get: (resource, ref, options) => {
      read.push(resource.plural);
      return client.get(resource, ref, options);
    },
  }));
  const { state, until } = follow(t, page, "/events");
  const hasReason = (items: ReadonlyMap<string, Item>, name: string) => (): boolean => {
    const item = items.get(`clonesets.apps.kruise.io/default/${name}`);
    return item?.is === "workload" && item.reason !== "";
  };
  // When the second one has an answer, the first one was due for longer than a look at what is due takes to come.
  for (const name of ["unseen", "neither"]) {
    await makeCloneSet(name, 1, { image: "nginx:no-such-tag" });
    await until(hasReason(state, name));
  }
  t.strictSame(read, []);
  const seen = follow(t, unseen, "/events");
  await seen.until(hasReason(seen.state, "unseen"));
  t.ok(read.includes("clonesets"));
  t.equal(await unseen.stop(), 0);
});

t.test("a workload that is opened before the list was read is shown when it was", async (t) => {
  await makeCloneSet("early", 1);
  const read = Promise.withResolvers<void>();
  const opened = await startPageOver((client) => ({
    ...client,
    // A watch sends the list first.
    watch: async (resource, options) => {
      await read.promise;
      return await client.watch(resource, options);
    },
  }));
  const { state, until } = follow(t, opened, "/events?workload=clonesets.apps.kruise.io/default/early");
  await sleep(200);
  t.equal(state.size, 0);
  read.resolve();
  await until(() => podsIn(state).length === 1);
  t.equal(await opened.stop(), 0);
});

const podsIn = (state: ReadonlyMap<string, Item>): PodItem[] =>
  [...state.values()].filter((item) => item.is === "pod");

t.test("a rollout is seen from its start to its end", async (t) => {
  await makeCloneSet("web", 6);
  const fleet = follow(t, page, "/events");
  const key = "clonesets.apps.kruise.io/default/web";
  await fleet.until(() => {
    const item = fleet.state.get(key);
    return item?.is === "workload" && item.state === "done" && item.available === 6;
  });
  await fleet.until(() => {
    const cluster = fleet.state.get(clusterKey);
    return cluster?.is === "cluster" && cluster.isComplete;
  });
  t.match(fleet.state.get(clusterKey), { problems: [] });

  const workload = follow(t, page, `/events?workload=${encodeURIComponent(key)}`);
  await workload.until(() => podsIn(workload.state).filter(({ state }) => state === "ready").length === 6);
  const old = new Set(podsIn(workload.state).map(({ revision }) => revision));
  t.equal(old.size, 1);
  const mixed: number[] = [];
  const looking = workload.until(() => {
    const updated = podsIn(workload.state).filter(({ revision }) => !old.has(revision)).length;
    mixed.push(updated);
    return updated === 6 && podsIn(workload.state).every(({ state }) => state === "ready");
  });
  await api.patch(`${clones}/web`, {
    spec: { template: { spec: { containers: [{ name: "web", image: "web:2" }] } } },
  });
  await looking;
  t.ok(
    mixed.some((updated) => updated > 0 && updated < 6),
    "pods of both revisions were seen at once",
  );
  await workload.until(() => {
    const answer = workload.state.get(answerKey);
    const item = workload.state.get(key);
    return (
      answer?.is === "answer" && answer.state === "done" && item?.is === "workload" && item.updated === 6
    );
  });
  t.match(workload.state.get(answerKey), { command: "refit why clone/web -n default", reasons: [] });
  t.match(workload.state.get(key), { allowed: 2, desired: 6, kind: "CloneSet" });
});

t.test("a crash is listed with its reason, and explained with its command", async (t) => {
  await makeCloneSet("broken", 1, { command: ["sh", "-c", "exit 3"] });
  const fleet = follow(t, page, "/events");
  const key = "clonesets.apps.kruise.io/default/broken";
  await fleet.until(() => {
    const item = fleet.state.get(key);
    return item?.is === "workload" && item.reason === "CrashLoopBackOff";
  });
  const workload = follow(t, page, `/events?workload=${encodeURIComponent(key)}`);
  await workload.until(() => {
    const answer = workload.state.get(answerKey);
    return answer?.is === "answer" && /exit code 3/.test(answer.reasons[0]?.text ?? "");
  });
  t.match(workload.state.get(answerKey), { reasons: [{ command: /^kubectl / }] });
  await workload.until(() => podsIn(workload.state).some(({ state }) => state === "failing"));
});

t.test(
  "pods of a Deployment are found through its ReplicaSets, and those of others are not shown",
  async (t) => {
    const labels = { app: "plain" };
    await api.post("/apis/apps/v1/namespaces/default/deployments", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "plain" },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } },
      },
    });
    await api.post("/api/v1/namespaces/default/pods", {
      metadata: { name: "stray", labels },
      spec: { containers: [{ name: "web", image: "web:1" }] },
    });
    const fleet = follow(t, page, "/events");
    const key = "deployments.apps/default/plain";
    await fleet.until(() => fleet.state.has(key));
    const workload = follow(t, page, `/events?workload=${encodeURIComponent(key)}`);
    await workload.until(() => podsIn(workload.state).filter(({ state }) => state === "ready").length === 2);
    t.strictSame(
      podsIn(workload.state).filter(({ name }) => name === "stray"),
      [],
    );
  },
);

t.test("an object that goes is told, and one of the same name that comes is followed", async (t) => {
  await makeCloneSet("brief", 1);
  const fleet = follow(t, page, "/events");
  const key = "clonesets.apps.kruise.io/default/brief";
  await fleet.until(() => fleet.state.has(key));
  const workload = follow(t, page, `/events?workload=${encodeURIComponent(key)}`);
  await workload.until(() => workload.state.has(key));
  await api.delete(`${clones}/brief`);
  await Promise.all([
    fleet.until(() => !fleet.state.has(key)),
    workload.until(() => !workload.state.has(key)),
  ]);
  await workload.until(() => podsIn(workload.state).length === 0);
  await makeCloneSet("brief", 3);
  await workload.until(() => podsIn(workload.state).filter(({ state }) => state === "ready").length === 3);
  t.match(workload.state.get(key), { desired: 3 });
});

t.test("no credential reaches the page", async (t) => {
  const fleet = follow(t, page, "/events");
  await fleet.until(() => fleet.state.size > 1);
  const secrets = [...sandbox.kubeconfig.matchAll(/(?:token|-data): *"?([^"\s]{16,})/g)].map(
    ([, text = ""]) => text,
  );
  t.ok(secrets.length > 0, "the kubeconfig has some");
  for (const secret of secrets) t.notOk(fleet.text.includes(secret));
});

t.test("a namespace limits what is listed; a port that is taken is refused in one line", async (t) => {
  const limited = await startPage(`--kubeconfig ${kubeconfig} -n kube-system`);
  const fleet = follow(t, limited, "/events");
  await fleet.until(() => {
    const cluster = fleet.state.get(clusterKey);
    return cluster?.is === "cluster" && cluster.isComplete;
  });
  t.strictSame(
    [...fleet.state.values()].filter((item) => item.is === "workload" && item.namespace === "default"),
    [],
  );
  const { port } = new URL(limited.address);
  const refused = await run(`ui --kubeconfig ${kubeconfig} --port ${port}`, { host: processHost() });
  t.equal(refused.code, 1);
  t.match(refused.stderr, /^error: cannot listen on port \d+: [^\n]+\n$/);
  t.equal(await limited.stop(), 0);
  const wrong = await run(`ui --kubeconfig ${kubeconfig} --port x`, { host: processHost() });
  t.equal(wrong.stderr, 'error: invalid value "x" for --port: must be a number from 0 to 65535\n');
});

t.test("it ends when it is asked to, and the controller after it", async (t) => {
  t.equal(await page.stop(), 0);
  t.equal((await stopController()).code, 0);
});
