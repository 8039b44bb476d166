/**
 * Pulls of the simulated agents: what `planNodeImage` starts is "pulled" into the node's store, with the delays of the
 * node's profile. Spec: images N3, agent 7.
 */

import type { NodeImage } from "../../crds/index.ts";
import { isJsonObject } from "../../kube/core/index.ts";
import {
  checkedSpec,
  endedTask,
  imageReference,
  type PullOrder,
  type PullResult,
  type PullTask,
  planNodeImage,
  pullEvent,
  pullOrder,
  pullStatus,
} from "../../node/index.ts";
import type { Next } from "../agenda.ts";
import type { StoredObject } from "../cluster.ts";
import type { SimulatedNode } from "../nodes/simulated_node.ts";
import type { Delay } from "../stages/profile.ts";
import { type AgentParts, type KindLoop, startKindLoop, writeStatus } from "./kind_loop.ts";

const resource = "nodeimages.apps.kruise.io";
const component = "kruise-daemon-imagepuller";

/** A pull under way. */
interface Pull {
  readonly order: PullOrder;
  failures: number;
  /** When the present attempt ends, milliseconds since the epoch. */
  dueAt: number;
}

/** Of one node; by `taskKey`. */
interface NodePulls {
  readonly tasks: Map<string, PullTask>;
  readonly pulls: Map<string, Pull>;
}

export function startImagePulls(parts: AgentParts): KindLoop {
  const { cluster, clock, nodes, random } = parts;
  const known = new Map<string, NodePulls>();
  /** One look at a NodeImage: what is due happens, what is reported is written once. */
  const look = (name: string): Next => {
    const node = nodes.node(name);
    const object = cluster.get(resource, { name });
    if (node === undefined || !isNodeImage(object)) return undefined;
    if (!node.alive) return node.timing.heartbeat.graceMs;
    const now = clock.now();
    const { tasks, pulls } = planned(parts, node, object, known.get(name));
    known.set(name, { tasks, pulls });
    for (const [key, pull] of pulls) {
      const task = tasks.get(key);
      const result = pull.dueAt > now ? undefined : attempted(parts, node, pull);
      if (task === undefined || result === undefined) continue;
      pulls.delete(key);
      tasks.set(key, endedTask(task, result, now));
      report(parts, node, object, task, pull.order, result);
    }
    writeStatus(cluster, resource, object, pullStatus(tasks));
    const next = Math.min(...[...pulls.values()].map(({ dueAt }) => dueAt));
    return Number.isFinite(next) ? Math.max(0, next - now) : undefined;
  };
  return startKindLoop(
    parts,
    resource,
    ({ type, object }, agenda) => {
      const name = object.metadata.name ?? "";
      const node = nodes.node(name);
      if (type === "DELETED") known.delete(name);
      else if (node !== undefined) agenda.add(name, lasts(node.timing.agent, random));
    },
    look,
  );
}

function planned(
  { clock, nodes: { registry }, random }: AgentParts,
  node: SimulatedNode,
  { spec: given, status }: NodeImage,
  before: NodePulls | undefined,
): NodePulls {
  const now = clock.now();
  const { spec } = checkedSpec(given);
  const seen = {
    spec,
    status,
    tasks: before?.tasks ?? new Map(),
    maxPulls: 0,
    runtimeReady: true,
    reason: "",
  };
  const { tasks, stop, start } = planNodeImage(seen, now);
  const pulls = before?.pulls ?? new Map<string, Pull>();
  for (const key of stop) pulls.delete(key);
  for (const key of start) {
    const task = tasks.get(key);
    const order = task && pullOrder(task, spec, now);
    if (order === undefined) continue;
    const reference = imageReference(order.image, order.tag) ?? "";
    const isPresent = order.onlyIfAbsent && node.images.has(reference);
    const lastsMs = isPresent ? 0 : (registry.pullMs(reference) ?? lasts(node.timing.pull, random));
    pulls.set(key, { order, failures: 0, dueAt: now + lastsMs });
  }
  return { tasks: new Map(tasks), pulls };
}

/** Undefined when there is another attempt. */
function attempted(
  { clock, nodes: { registry } }: AgentParts,
  node: SimulatedNode,
  pull: Pull,
): PullResult | undefined {
  const { image, tag, onlyIfAbsent, backoffLimit } = pull.order;
  const reference = imageReference(image, tag);
  if (reference === undefined)
    return { ok: false, message: `invalid image reference: name "${image}", tag "${tag}"` };
  const isPresent = onlyIfAbsent && node.images.has(reference);
  if (isPresent || !registry.fails(reference)) {
    node.images.add(reference);
    const imageID = `${image}@${registry.imageId(reference).replace(/^.*@/, "")}`;
    return { ok: true, imageID, pulled: !isPresent };
  }
  const { firstMs, longestMs } = node.timing.backOff;
  pull.failures += 1;
  pull.dueAt = clock.now() + Math.min(longestMs, firstMs * 2 ** (pull.failures - 1));
  const why = `failed to resolve reference "${reference}"`;
  return pull.failures <= backoffLimit
    ? undefined
    : { ok: false, message: `Failed to pull image reference "${reference}": ${why}` };
}

/** A failure is reported on the jobs that asked for the tag as well. */
function report(
  { cluster, clock, events }: AgentParts,
  node: SimulatedNode,
  object: StoredObject,
  task: PullTask,
  { owners }: PullOrder,
  result: PullResult,
): void {
  const { type, reason, message } = pullEvent(task, result, clock.now() - (task.startedAt ?? clock.now()));
  const jobs = owners.map(({ namespace = "", name = "" }) =>
    cluster.get("imagepulljobs.apps.kruise.io", { namespace, name }),
  );
  for (const about of [object, ...(result.ok ? [] : jobs)])
    if (about !== undefined) events.write(about, type, reason, message, component, node.name);
}

function lasts({ from, to }: Delay, random: () => number): number {
  return from + (to - from) * random();
}

function isNodeImage(object: StoredObject | undefined): object is StoredObject & NodeImage {
  return isJsonObject(object?.["spec"]);
}
