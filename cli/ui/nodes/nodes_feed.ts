/** All nodes with what their agents work on, for as long as a page shows them. */
import { type Change, sidesOf } from "../../../kube/index.ts";
import type { AnyObject } from "../../fields.ts";
import { agentPods } from "../../why/causes/gather.ts";
import { unreadKey } from "../shared/detail_items.ts";
import { clusterKey } from "../shared/items.ts";
import type { NodeWork } from "../shared/node_items.ts";
import { Feed } from "../watching/feed.ts";
import type { FleetOptions } from "../watching/fleet.ts";
import { Followed, type Kept } from "../watching/follow_resource.ts";
import { ByNode } from "./by_node.ts";
import {
  type AgentFacts,
  agentFacts,
  type NodeFacts,
  type NodePod,
  type NodePulls,
  type NodeRequest,
  nodeFacts,
  nodePod,
  nodePulls,
  nodeRequest,
} from "./node_facts.ts";
import { nodeItem, type SeenNode } from "./node_item.ts";

/** Changes of one node are gathered for so long. */
const gatherMs = 100;
/** What nobody takes up becomes a reason when nothing changes. */
const againMs = 5_000;

type Watch = Pick<Followed<unknown>, "settled" | "problem" | "stop">;

interface Place {
  readonly namespace?: string;
  readonly labelSelector?: string;
}

export class NodesFeed {
  readonly feed: Feed;
  readonly #options: FleetOptions;
  readonly #nodes = new Map<string, NodeFacts>();
  readonly #pulls = new Map<string, NodePulls>();
  readonly #pods = new ByNode<NodePod>();
  readonly #requests = new ByNode<NodeRequest>();
  readonly #agents = new ByNode<AgentFacts>();
  /** By node, whether its agent is ready. */
  readonly #ready = new Map<string, boolean>();
  readonly #followed: Watch[] = [];
  /** Nodes of which something changed since they were shown. */
  #changed = new Set<string>();
  #timer: { cancel(): void } | undefined;
  #again: { cancel(): void } | undefined;
  #isStopped = false;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.feed = new Feed(options.host.clock);
  }

  /** Resolves when everything that can be read was read once. Throws KubeError when the server cannot be asked what it serves. */
  async start(): Promise<void> {
    const { namespace } = this.#options;
    const place = namespace === undefined ? {} : { namespace };
    await Promise.all([
      this.#follow("", "Node", {}, nodeFacts, (change) => keep(this.#nodes, change)),
      this.#follow("apps.kruise.io", "NodeImage", {}, nodePulls, (change) => keep(this.#pulls, change)),
      this.#follow("", "Pod", place, nodePod, (change) => this.#pods.take(change)),
      this.#follow("apps.kruise.io", "ContainerRecreateRequest", place, nodeRequest, (change) =>
        this.#requests.take(change),
      ),
      this.#followAgents(),
    ]);
    await Promise.all(this.#followed.map(({ settled }) => settled));
    this.#mark(this.#names());
    this.#tick();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#again?.cancel();
    this.feed.stop();
    await Promise.all(this.#followed.map((followed) => followed.stop()));
  }

  /** `take` returns the nodes of which something changed. */
  async #follow<T>(
    group: string,
    kind: string,
    place: Place,
    make: (object: AnyObject) => T | undefined,
    take: (change: Change<Kept<T>>) => Iterable<string>,
  ): Promise<void> {
    const { access, host } = this.#options;
    const type = await access.types.findKind(group, kind);
    if (type === undefined || this.#isStopped) return;
    const changed = (change: Change<Kept<T>>): void => this.#mark(take(change));
    this.#followed.push(new Followed({ access, host, type, ...place, make, changed }));
  }

  async #followAgents(): Promise<void> {
    await this.#follow("", "Pod", agentPods(), agentFacts, (change) => {
      const hadAny = this.#ready.size > 0;
      const nodes = this.#agents.take(change);
      for (const node of nodes) this.#countAgents(node);
      // Where there are agents at all, a node without one is told.
      return hadAny === this.#ready.size > 0 ? nodes : this.#names();
    });
  }

  #countAgents(node: string): void {
    const agents = [...this.#agents.of(node)];
    if (agents.length === 0) this.#ready.delete(node);
    else
      this.#ready.set(
        node,
        agents.some(({ isReady }) => isReady),
      );
  }

  #mark(nodes: Iterable<string>): void {
    for (const node of nodes) this.#changed.add(node);
    if (this.#isStopped || this.#changed.size === 0) return;
    this.#timer ??= this.#options.host.clock.after(gatherMs, () => this.#show());
  }

  #names(): Set<string> {
    const { nodes: withPods } = this.#pods;
    return new Set([...this.#nodes.keys(), ...this.#pulls.keys(), ...withPods, ...this.#agents.nodes]);
  }

  #show(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const changed = this.#changed;
    this.#changed = new Set();
    for (const name of changed) this.#showNode(name);
  }

  #showNode(name: string): void {
    const key = `node/${name}`;
    const isThere = this.#nodes.size > 0 ? this.#nodes.has(name) : this.#names().has(name);
    if (isThere) this.feed.put(key, nodeItem(this.#seen(name), this.#options.host.clock.now()));
    else this.feed.remove(key);
  }

  #seen(name: string): SeenNode {
    return {
      name,
      node: this.#nodes.get(name),
      pulls: this.#pulls.get(name),
      pods: this.#pods.count(name),
      updates: [...this.#pods.of(name)].flatMap(({ update }) => update ?? []),
      requests: [...this.#requests.of(name)],
      agent: [...this.#agents.of(name)].at(0),
      agents: this.#ready,
    };
  }

  #tick(): void {
    if (this.#isStopped) return;
    const what = this.#followed.flatMap(({ problem }) => problem ?? []);
    if (what.length === 0) this.feed.remove(unreadKey);
    else this.feed.put(unreadKey, { is: "unread", what });
    this.feed.put(clusterKey, { is: "cluster", isComplete: true, problems: [] });
    for (const [key, item] of this.feed.state)
      if (item.is === "node" && item.work.some(isLateSoon)) this.#changed.add(key.slice("node/".length));
    this.#show();
    this.#again = this.#options.host.clock.after(againMs, () => this.#tick());
  }
}

/** Whether time alone makes it something that needs somebody. */
function isLateSoon({ kind, phase, message }: NodeWork): boolean {
  return phase === "" || (kind === "inPlace" && message !== "");
}

/** By name, for objects of the whole cluster. */
function keep<T>(kept: Map<string, T>, change: Change<Kept<T>>): string[] {
  const { key, item } = change.object;
  if (sidesOf(change).after === undefined || item === undefined) kept.delete(key);
  else kept.set(key, item);
  return [key];
}
