/**
 * What a node has pulled is not pulled for the same version again, whenever its agent starts again: it was told, or it is in a file
 * that nobody has damaged.
 */
import type { StoredObject } from "../../sandbox/index.ts";
import { at, keyOf, listAt, textAt } from "./fields.ts";
import type { AgentEvent, ObservedCluster } from "./observed.ts";

const resource = "nodeimages.apps.kruise.io";
const over = ["Succeeded", "Failed"];
/** Within this time an agent has what it knows in its file. */
const savedMs = 200;
/** Who was given up as it came back hears of it within this time. */
const heardMs = 2_000;
/** By whoever waits for an agent. Spec: images N4, rule 5. */
const givenUp = ["node has not responded for a long time", "pulling exceeds the activeDeadlineSeconds"];

/** One order to pull: a newer version is another one. */
interface Order {
  readonly name: string;
  readonly key: string;
  readonly phase: string;
  readonly isGivenUp: boolean;
}

export class AgentPulls {
  readonly #cluster: ObservedCluster;
  readonly #violation: (text: string) => void;
  /** Orders under way, by node and image. */
  readonly #begun = new Map<string, string>();
  /** That ended well: which order, and when. */
  readonly #done = new Map<string, { readonly key: string; readonly at: number }>();
  /** That are given up: since when, by node and order. */
  readonly #givenUp = new Map<string, number>();
  /** Of the newest agent of each node. */
  readonly #hears = new Map<string, boolean>();

  constructor(cluster: ObservedCluster, violation: (text: string) => void) {
    this.#cluster = cluster;
    this.#violation = violation;
    cluster.agents?.subscribe((event) => this.#happened(event));
    cluster.server.cluster.subscribe(resource, (change) => {
      if (change.type === "MODIFIED") this.#reported(change.object, change.before);
    });
  }

  /** Whether nobody waits for it any more, whatever the agent does since it is back. */
  isGivenUp(node: string, order: string): boolean {
    return this.#givenUp.has(`${node} ${order}`);
  }

  #happened(event: AgentEvent): void {
    const { node, hears } = event;
    this.#hears.set(node, hears);
    const now = this.#cluster.clock.monotonic();
    if (event.type === "died") {
      for (const [image, { at: since }] of this.#done)
        if (image.startsWith(`${node} `) && now - since < savedMs) this.#done.delete(image);
      return;
    }
    if (event.type === "refused") return;
    const { reference, type } = event;
    const image = `${node} ${reference}`;
    const order = this.#order(node, reference);
    // Who does not hear of the server goes on with what was wanted last.
    if (order === undefined || !hears) return;
    if (type === "pulled") {
      if (this.#begun.get(image) === order.key) this.#done.set(image, { key: order.key, at: now });
      return;
    }
    this.#begun.set(image, order.key);
    const done = this.#done.get(image);
    if (done?.key !== order.key || (this.#cluster.agents?.damagedAt(node) ?? now) >= done.at) return;
    this.#violation(`${node} pulls ${reference} again, which it has pulled for the same version`);
  }

  #order(node: string, reference: string): Order | undefined {
    const object = this.#cluster.server.cluster.get(resource, { name: node });
    return object && ordersOf(object).find(({ name }) => name === reference);
  }

  #reported(object: StoredObject, before: StoredObject): void {
    const node = object.metadata.name ?? "";
    const now = this.#cluster.clock.monotonic();
    const orders = ordersOf(object);
    for (const order of ordersOf(before)) {
      const found = orders.find(({ key }) => key === order.key);
      if (found === undefined) this.#done.delete(`${node} ${order.name}`);
      else if (found.isGivenUp && !order.isGivenUp) this.#givenUp.set(`${node} ${order.key}`, now);
      else if (this.#isTakenUpAgain(node, order, found, now))
        this.#violation(
          `${keyOf(object)}: the pull of ${order.name} was ${order.phase}, and is ${found.phase || "forgotten"}`,
        );
    }
  }

  #isTakenUpAgain(node: string, before: Order, found: Order, now: number): boolean {
    if (!over.includes(before.phase) || over.includes(found.phase) || this.#hears.get(node) === false)
      return false;
    const givenUpAt = this.#givenUp.get(`${node} ${before.key}`) ?? Number.NEGATIVE_INFINITY;
    return !before.isGivenUp || now - givenUpAt > heardMs;
  }
}

/** Of a tag in the spec of a NodeImage. */
export function orderOf(image: string, tag: unknown): string {
  return `${image}:${textAt(tag, "tag")} ${at(tag, "version") ?? 0} ${textAt(tag, "createdAt")}`;
}

/** With what the status says of just this version. */
function ordersOf(object: StoredObject): Order[] {
  return Object.entries(Object(at(object, "spec", "images"))).flatMap(([image, wanted]) =>
    listAt(wanted, "tags").map((tag) => {
      const version = at(tag, "version") ?? 0;
      const status = listAt(object, "status", "imageStatuses", image, "tags").find(
        (each) => textAt(each, "tag") === textAt(tag, "tag") && (at(each, "version") ?? 0) === version,
      );
      return {
        name: `${image}:${textAt(tag, "tag")}`,
        key: orderOf(image, tag),
        phase: textAt(status, "phase"),
        isGivenUp: givenUp.includes(textAt(status, "message")),
      };
    }),
  );
}

/** Of a node, once all is well: what is still to be pulled. */
export function unpulled(object: StoredObject): string[] {
  return ordersOf(object)
    .filter(({ phase }) => !over.includes(phase))
    .map(({ name, phase }) => `${name} is ${phase || "not taken up"}, and not pulled`);
}
