/** Objects that nobody should have written: each is answered or left out by itself, and what is sound goes on. */
import t, { type Test } from "tap";
import { hollowLabel } from "../../sandbox/index.ts";
import type { FakeCri } from "../../testkit/cri/fake_cri.ts";
import { type Item, isRecord } from "../cluster/api.ts";
import {
  eventually,
  type NodeUnderTest,
  node,
  nodeImages,
  pullTask,
  reached,
  recreateRequests,
  startFake,
  startNode,
  tagStatus,
  wantImages,
} from "./fixture.ts";

const id = (letter: string): string => `sha256:${letter.repeat(64)}`;

t.test("image names and tags that are no references", async (t) => {
  const { under, fake } = await agentAtWork(t);
  const names = [
    "",
    " ",
    "a b",
    "a\nb",
    "a\u202eb",
    "näme",
    "図",
    "__proto__",
    "constructor",
    "toString",
    "a//b",
    "/a",
    "a/",
    "a:b:c",
    "a@sha256:1",
    "http://host/a",
    "host:port/a",
    "host:99999999999999999999/A",
    `${"a/".repeat(200)}a`,
  ];
  const tags = ["a b", "a/b", "..", "-x", "é", "x".repeat(129), "sha256:short", "latest\n", "__proto__"];
  const images = new Map<string, object>(names.map((name) => [name, { tags: [pullTask("1")] }]));
  images.set("tagged", { tags: tags.map((tag) => pullTask(tag)) });
  images.set("good", { tags: [pullTask("1")] });
  await wantImages(under.api, Object.fromEntries(images));
  await reached(under.api, "good", "1", "Succeeded");
  const wrong = [...names.map((name) => [name, "1"]), ...tags.slice(0, -1).map((tag) => ["tagged", tag])];
  for (const [name = "", tag = ""] of wrong) {
    await reached(under.api, name, tag, "Failed");
    const status = await tagStatus(under.api, name, tag);
    t.match(status?.message, /\S/, JSON.stringify([name.slice(0, 20), tag.slice(0, 20)]));
  }
  // Well formed, if odd: the registry is asked.
  const asked = fake.runtime.pulls.map(({ image }) => image?.image);
  t.same([...new Set(asked)].toSorted(), ["constructor:1", "good:1", "tagged:__proto__"]);
  const { status } = await under.api.get(nodeImages, node);
  t.match(status, { desired: names.length + tags.length + 1, succeeded: 1, pulling: 0, waiting: 0 });
  await atWork(t, under);
});

t.test("a NodeImage edited by hand: duplicates, unknown members, a status by others", async (t) => {
  const { under, fake } = await agentAtWork(t);
  await wantImages(under.api, {
    good: {
      tags: [pullTask("1", { version: 3 }), pullTask("1", { version: 9 }), pullTask("1")],
      unheardOf: { deep: [1, 2, { three: true }] },
    },
  });
  await reached(under.api, "good", "1", "Succeeded");
  t.match((await under.api.get(nodeImages, node)).status, { desired: 1, succeeded: 1 });
  t.equal(fake.runtime.pulls.length, 1, "of equal tags the first counts");
  for (const [what, status] of [
    ["numbers for lists", { desired: "many", imageStatuses: { good: { tags: 7 } } }],
    ["nothing for entries", { imageStatuses: { good: { tags: [null, 5, "1", [], {}] } } }],
    ["lists for maps", { desired: 1, imageStatuses: ["good"] }],
    ["text for maps", { desired: 1, imageStatuses: "good" }],
    [
      "odd members",
      { imageStatuses: { good: { tags: [{ tag: 1 }, { tag: "1", startTime: 5, version: {} }] } } },
    ],
    [
      "other images",
      { desired: 99, failed: 99, imageStatuses: { other: { tags: [{ tag: "1", phase: "Failed" }] } } },
    ],
    [
      "a pull that nobody did",
      { pulling: 1, imageStatuses: { good: { tags: [{ tag: "1", phase: "Pulling" }] } } },
    ],
  ] as const) {
    await replaceStatus(under, status);
    await eventually(`${what}: put right`, async () => {
      const now = (await under.api.get(nodeImages, node)).status;
      const images = now?.["imageStatuses"];
      return (
        now?.["desired"] === 1 &&
        now["succeeded"] === 1 &&
        isRecord(images) &&
        Object.keys(images).join() === "good" &&
        (await tagStatus(under.api, "good", "1"))?.phase === "Succeeded"
      );
    });
    t.equal(fake.runtime.pulls.length, 1, `${what}: pulled once`);
  }
  await atWork(t, under);
});

t.test("a status by others is there when the agent starts", async (t) => {
  const under = await startNode(t, { unchecked: true });
  const fake = await startFake(t, under);
  for (const name of ["good", "after"]) fake.runtime.registry.set(`${name}:1`, { id: id("a") });
  await wantImages(under.api, { good: { tags: [pullTask("1")] }, other: { tags: [pullTask("1")] } });
  await replaceStatus(under, {
    desired: {},
    imageStatuses: {
      good: { tags: [null, { tag: "1", completionTime: 7, phase: [] }] },
      other: { tags: "none" },
    },
  });
  await under.agent.start();
  await under.agent.ready();
  await reached(under.api, "good", "1", "Succeeded");
  await reached(under.api, "other", "1", "Failed");
  await atWork(t, under);
});

t.test("requests for what is not here", async (t) => {
  const { under, fake } = await agentAtWork(t);
  for (const name of [node, "node-2"])
    await under.api.create({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, labels: { [hollowLabel]: "false" } },
    });
  // Requests of one pod wait for each other: each has its own.
  const here = (name: string) => createPod(under, name, node);
  const there = await createPod(under, "there", "node-2");
  const before = fake.calls.get("ListContainers") ?? 0;
  await request(under, "label-of-another-node", there, { node: "node-2" });
  await request(under, "pod-of-another-node", there, {});
  await request(under, "no-such-pod", { ...there, metadata: { ...there.metadata, name: "gone" } }, {});
  await request(under, "no-such-container", await here("first"), { container: "nobody" });
  await request(under, "other-runtime", await here("second"), { id: "cri-o://1" });
  await request(under, "no-container-id", await here("third"), { id: "" });
  await completed(t, under, "pod-of-another-node", /not on this node/);
  await completed(t, under, "no-such-pod", /pod has gone/);
  await completed(t, under, "other-runtime", /not found runtime service for cri-o in daemon/);
  await completed(t, under, "no-container-id", /empty containerID in app container/);
  await eventually("the unknown container is reported", async () => {
    const { status } = await under.api.get(recreateRequests, "no-such-container", "default");
    return JSON.stringify(status).includes("not found container on Node");
  });
  const foreign = await under.api.get(recreateRequests, "label-of-another-node", "default");
  t.equal(foreign.status?.["phase"], undefined, "it is the other node's");
  t.equal(fake.calls.get("StopContainer"), undefined);
  t.ok((fake.calls.get("ListContainers") ?? 0) > before, "only the pod of this node was looked at");
  await atWork(t, under);
});

t.test("requests and probes that are no such objects", async (t) => {
  const { under } = await agentAtWork(t);
  const labels = {
    "crr.apps.kruise.io/node-name": node,
    "crr.apps.kruise.io/active": "true",
    "crr.apps.kruise.io/pod-uid": "1",
  };
  const odd = [
    ["no-spec", {}],
    ["null-spec", { spec: null }],
    ["text-spec", { spec: "all" }],
    ["no-containers", { spec: { podName: "web" } }],
    ["odd-containers", { spec: { podName: "web", containers: [null, 1, {}] } }],
    ["odd-name", { spec: { podName: { a: 1 }, containers: "all" } }],
  ] as const;
  for (const [name, rest] of odd)
    await under.api.create(
      {
        apiVersion: "apps.kruise.io/v1beta1",
        kind: "ContainerRecreateRequest",
        metadata: { name, labels },
        ...rest,
      },
      "default",
    );
  await under.api.create({
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "NodePodProbe",
    metadata: { name: node },
    spec: { podProbes: [null, 7, { name: "web", probes: "none" }, { probes: [null, { probe: 5 }] }] },
  });
  for (const [name] of odd)
    await eventually(`${name} is over`, async () => {
      const { status } = await under.api.get(recreateRequests, name, "default");
      return status?.["phase"] === "Completed" && String(status["message"]) !== "";
    });
  await atWork(t, under);
});

/** A node whose agent is ready; the server checks nothing of what is written to it. */
async function agentAtWork(t: Test): Promise<{ under: NodeUnderTest; fake: FakeCri }> {
  const under = await startNode(t, { unchecked: true });
  const fake = await startFake(t, under);
  fake.runtime.registry.set("good:1", { id: id("a") });
  fake.runtime.registry.set("after:1", { id: id("b") });
  await under.agent.start();
  await under.agent.ready();
  return { under, fake };
}

/** It lives, is ready, has not complained of itself, and pulls what is asked for now. */
async function atWork(t: Test, under: NodeUnderTest): Promise<void> {
  t.equal(under.agent.exitCode(), undefined, "the agent lives");
  t.equal((await under.agent.get("/readyz")).status, 200);
  t.notMatch(under.agent.log, /unhandled|TypeError|Cannot read prop|is not a function|is not iterable/);
  await wantImages(under.api, { after: { tags: [pullTask("1")] } });
  await reached(under.api, "after", "1", "Succeeded");
}

async function replaceStatus(under: NodeUnderTest, value: object): Promise<void> {
  const { status } = await under.api.get(nodeImages, node);
  const op = status === undefined ? "add" : "replace";
  await under.api.patch(nodeImages, node, undefined, "json", [{ op, path: "/status", value }], "status");
}

async function createPod({ api }: NodeUnderTest, name: string, nodeName: string): Promise<Item> {
  const spec = { nodeName, containers: [{ name: "app", image: "nginx:1" }] };
  return api.create({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec }, "default");
}

async function request(
  { api }: NodeUnderTest,
  name: string,
  pod: Item,
  odd: { node?: string; container?: string; id?: string },
): Promise<void> {
  const containerID = odd.id ?? "containerd://1";
  const metadata = {
    name,
    labels: {
      "crr.apps.kruise.io/node-name": odd.node ?? node,
      "crr.apps.kruise.io/pod-uid": pod.metadata.uid,
      "crr.apps.kruise.io/active": "true",
    },
  };
  const containers = [{ name: odd.container ?? "app", statusContext: { containerID, restartCount: 0 } }];
  const spec = { podName: pod.metadata.name, containers };
  await api.create(
    { apiVersion: "apps.kruise.io/v1beta1", kind: "ContainerRecreateRequest", metadata, spec },
    "default",
  );
}

async function completed(t: Test, { api }: NodeUnderTest, name: string, message: RegExp): Promise<void> {
  await eventually(`${name} is completed`, async () => {
    const { status } = await api.get(recreateRequests, name, "default");
    return status?.["phase"] === "Completed";
  });
  t.match((await api.get(recreateRequests, name, "default")).status?.["message"], message, name);
}
