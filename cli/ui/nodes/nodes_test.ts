/** What is made of objects for the view of nodes, and its order, without a browser and without a cluster. */
import t from "tap";
import { node } from "../../../testkit/cli/page_items_builder.ts";
import { toAnyObject } from "../../fields.ts";
import { isNodeShown, sortedNodes } from "../page/nodes.ts";
import type { Kept } from "../watching/follow_resource.ts";
import { ByNode } from "./by_node.ts";
import { agentFacts, type NodePod, nodeFacts, nodePod, nodePulls, nodeRequest } from "./node_facts.ts";
import { nodeItem, type SeenNode } from "./node_item.ts";

const now = Date.parse("2026-01-01T10:00:00Z");
const before = (seconds: number): string => new Date(now - seconds * 1_000).toISOString();

function seen(over: Partial<SeenNode> = {}): SeenNode {
  const ready = { type: "Ready", status: "True" };
  return {
    name: "node-1",
    node: nodeFacts(toAnyObject({ metadata: {}, status: { conditions: [ready] } })),
    pulls: undefined,
    pods: 2,
    updates: [],
    requests: [],
    agent: undefined,
    agents: new Map([["node-1", true]]),
    ...over,
  };
}

/** A NodeImage whose tags are `tag: [phase, seconds since it was asked for, message]`. */
function pulls(tags: Readonly<Record<string, readonly [phase: string, asked: number, message?: string]>>) {
  const all = Object.entries(tags);
  return nodePulls(
    toAnyObject({
      metadata: { name: "node-1" },
      spec: {
        images: {
          web: {
            tags: all.map(([tag, [, asked]]) => ({
              tag,
              version: 0,
              createdAt: before(asked),
              pullPolicy: {},
            })),
          },
        },
      },
      status: {
        imageStatuses: {
          web: {
            tags: all
              .filter(([, [phase]]) => phase !== "")
              .map(([tag, [phase, asked, message = ""]]) => ({
                tag,
                phase,
                message,
                progress: 40,
                version: 0,
                startTime: before(asked),
                ...(phase === "Pulling" ? {} : { completionTime: before(asked - 1) }),
              })),
          },
        },
      },
    }),
  );
}

t.test("a node without work is idle; what its kubelet and its spec say comes before", async (t) => {
  t.match(nodeItem(seen(), now), {
    state: "done",
    reason: "",
    isReady: true,
    agent: { state: "ready" },
    work: [],
  });
  const cordoned = toAnyObject({
    metadata: { labels: { "topology.kubernetes.io/zone": "east" } },
    spec: { unschedulable: true },
    status: {
      conditions: [
        {
          type: "Ready",
          status: "Unknown",
          reason: "NodeStatusUnknown",
          message: "gone",
          lastTransitionTime: before(60),
        },
      ],
    },
  });
  const item = nodeItem(seen({ node: nodeFacts(cordoned) }), now);
  t.match(item, { state: "stuck", reason: "NodeNotReady", message: "NodeStatusUnknown: gone", zone: "east" });
  t.match(item, { isReady: false, isUnschedulable: true, since: now - 60_000 });
  const held = nodeFacts(toAnyObject({ metadata: {}, spec: { unschedulable: true } }));
  t.match(nodeItem(seen({ node: held }), now), {
    state: "waiting",
    reason: "Cordoned",
    command: "kubectl uncordon node-1",
  });
  const unread = nodeItem(seen({ node: undefined }), now);
  t.equal(unread.isReady, undefined, "of a node that may not be read, nothing is claimed");
  t.equal(unread.state, "done");
});

t.test("pulls are told with their failures first, and what succeeded is no work", async (t) => {
  const item = nodeItem(
    seen({
      pulls: pulls({
        a: ["Pulling", 30],
        b: ["Succeeded", 99],
        c: ["Failed", 20, "no\nsuch tag"],
        d: ["", 5],
      }),
    }),
    now,
  );
  t.strictSame(
    item.work.map(({ what, phase, message, progress }) => [what, phase, message, progress]),
    [
      ["web:c", "Failed", "no such tag", undefined],
      ["web:d", "", "", undefined],
      ["web:a", "Pulling", "", 40],
    ],
  );
  t.match(item, { state: "stuck", reason: "PullFailed", command: "kubectl get nodeimage node-1 -o yaml" });
  t.equal(item.agent.heardAt, now - 19_000, "the newest that the agent wrote");
  t.match(nodeItem(seen({ pulls: pulls({ a: ["Pulling", 30] }) }), now), {
    state: "progressing",
    reason: "",
  });
});

t.test("what no agent takes up needs somebody after a while", async (t) => {
  const asked = { pulls: pulls({ a: ["", 15] }) };
  t.match(nodeItem(seen(asked), now), { state: "progressing", reason: "" });
  t.match(nodeItem(seen(asked), now + 120_000), {
    state: "stuck",
    reason: "AgentAbsent",
    message: /the agent of the node does not answer/,
  });
});

t.test("an agent is told by the pods of its DaemonSet, where there are any", async (t) => {
  const pod = (ready: string) =>
    agentFacts(
      toAnyObject({
        metadata: { name: "agent" },
        spec: { nodeName: "node-1", containers: [{ name: "daemon", image: "example.com/refit-agent:v1.2" }] },
        status: { conditions: [{ type: "Ready", status: ready }] },
      }),
    );
  t.match(nodeItem(seen({ agent: pod("True") }), now).agent, { state: "ready", version: "v1.2" });
  t.equal(pod("False")?.isReady, false);
  const missing = nodeItem(seen({ agents: new Map([["node-2", true]]) }), now);
  t.match(missing, { state: "waiting", reason: "AgentAbsent", agent: { state: "absent" } });
  t.match(missing.command, /^kubectl get pods -n kruise-system .*nodeName=node-1$/);
  const broken = nodeItem(seen({ agents: new Map([["node-1", false]]) }), now);
  t.match(broken, { state: "waiting", agent: { state: "notReady" } });
  t.match(nodeItem(seen({ agents: new Map() }), now), { state: "done", agent: { state: "untold" } });
  const labels = { type: "virtual-kubelet" };
  const virtual = nodeFacts(toAnyObject({ metadata: { labels } }));
  t.equal(nodeItem(seen({ node: virtual, agents: new Map([["node-2", true]]) }), now).state, "done");
});

t.test("recreate requests are work until they succeed, and a failed one needs somebody", async (t) => {
  const request = (phase: string, container: string, createdAt: number) =>
    nodeRequest(
      toAnyObject({
        metadata: {
          name: "again",
          namespace: "shop",
          creationTimestamp: before(createdAt),
          labels: { "crr.apps.kruise.io/node-name": "node-1" },
        },
        spec: { podName: "web-1", containers: [{ name: "web" }] },
        status: { phase, containerRecreateStates: [{ name: "web", phase: container }] },
      }),
    );
  const itemOf = (...made: Parameters<typeof request>) => {
    const found = request(...made);
    return nodeItem(seen({ requests: found === undefined ? [] : [found] }), now);
  };
  t.match(itemOf("Recreating", "Recreating", 30), {
    state: "progressing",
    work: [
      {
        kind: "recreate",
        what: "shop/web-1",
        detail: "again: web",
        phase: "Recreating",
        since: now - 30_000,
      },
    ],
  });
  t.strictSame(itemOf("Completed", "Succeeded", 30).work, []);
  t.match(itemOf("Completed", "Failed", 30), {
    state: "stuck",
    reason: "RecreateFailed",
    command: "kubectl describe crr again -n shop",
    work: [{ phase: "Failed" }],
  });
  t.equal(itemOf("", "", 10).state, "progressing");
  t.match(itemOf("", "", 30), { state: "stuck", reason: "AgentAbsent", message: /again waits for$/ });
});

t.test("updates in place are told with their step, and pods that hold nothing are not counted", async (t) => {
  const pod = (over: object, status: object = {}) =>
    nodePod(
      toAnyObject({
        metadata: { name: "web-1", namespace: "shop", ...over },
        spec: { nodeName: "node-1", containers: [{ name: "web" }] },
        status: {
          conditions: [{ type: "InPlaceUpdateReady", status: "False", lastTransitionTime: before(9) }],
          containerStatuses: [{ name: "web", state: { running: { startedAt: before(99) } } }],
          ...status,
        },
      }),
    );
  const update = { pod: "shop/web-1", phase: "Updating", problem: "", since: now - 9_000 };
  t.match(pod({}), { node: "node-1", update });
  const annotations = { "apps.kruise.io/inplace-update-grace": "{}" };
  t.match(pod({ annotations }), { update: { phase: "Grace period" } });
  t.match(pod({}, { containerStatuses: [{ name: "web", state: {} }] }), { update: { phase: "Restarting" } });
  const waiting = { reason: "ImagePullBackOff", message: "no such image" };
  t.match(pod({}, { containerStatuses: [{ name: "web", state: { waiting } }] }), {
    update: { phase: "Restarting", problem: "ImagePullBackOff" },
  });
  t.strictSame(pod({}, { conditions: [] }), { node: "node-1" });
  t.equal(pod({}, { phase: "Succeeded" }), undefined);
  t.equal(nodePod(toAnyObject({ metadata: { name: "a" } })), undefined, "it is on no node yet");
  const updates = [{ ...update, phase: "Updating" as const }];
  t.match(nodeItem(seen({ updates }), now), {
    state: "progressing",
    work: [{ kind: "inPlace", what: "shop/web-1", phase: "Updating", since: now - 9_000 }],
  });
});

t.test("an update in place whose container does not run needs somebody after a minute", async (t) => {
  const failing = { pod: "shop/web-1", phase: "Restarting" as const, problem: "ImagePullBackOff" };
  const after = (seconds: number) =>
    nodeItem(seen({ updates: [{ ...failing, since: now - seconds * 1_000 }] }), now);
  t.match(after(59), { state: "progressing", reason: "", work: [{ message: "ImagePullBackOff" }] });
  t.match(after(61), {
    state: "stuck",
    reason: "ImagePullBackOff",
    message: "pod shop/web-1 is being updated in place, and its new container does not run",
    command: "kubectl describe pod web-1 -n shop",
  });
});

t.test("of much work the first is told, and the rest counted", async (t) => {
  const updates = Array.from({ length: 30 }, (_, index) => ({
    pod: `shop/web-${index}`,
    phase: "Updating" as const,
    problem: "",
    since: now - index,
  }));
  const { work, moreWork } = nodeItem(seen({ updates }), now);
  t.equal(work.length, 20);
  t.equal(moreWork, 10);
  t.equal(work[0]?.what, "shop/web-29", "the oldest first");
});

t.test("pods are counted where they are, also when they move", async (t) => {
  const pods = new ByNode<NodePod>();
  const kept = (node: string | undefined): Kept<NodePod> => ({
    key: "shop/web-1",
    uid: "",
    version: "",
    item: node === undefined ? undefined : { node },
  });
  t.strictSame(pods.take({ type: "added", object: kept("a") }), ["a"]);
  t.strictSame(pods.take({ type: "changed", before: kept("a"), object: kept("b") }), ["a", "b"]);
  t.strictSame([pods.count("a"), pods.count("b")], [0, 1]);
  t.strictSame(pods.take({ type: "removed", object: kept("b") }), ["b"]);
  t.strictSame([...pods.nodes], []);
});

t.test("what needs somebody is first, and of that what has for longest; words filter", async (t) => {
  const nodes = [
    node(10),
    node(9),
    node(1, { state: "stuck", since: 20 }),
    node(2, { state: "stuck", since: 10, reason: "PullFailed" }),
    node(3, { state: "waiting" }),
  ];
  t.strictSame(
    sortedNodes(nodes).map(({ name }) => name),
    ["node-2", "node-1", "node-3", "node-9", "node-10"],
  );
  const shown = (text: string, ...states: ("stuck" | "done")[]) =>
    nodes.filter((each) => isNodeShown({ text, states: new Set(states), most: 1 }, each)).length;
  t.equal(shown(""), 5);
  t.equal(shown("pullFAILED node-2"), 1);
  t.equal(shown("", "done"), 2);
  t.equal(shown("node-9", "stuck"), 0);
});
