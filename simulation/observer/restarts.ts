/**
 * Restarts: a container runs anew because it ended by itself, because its pod asks for something else, or because a
 * ContainerRecreateRequest names it, once for each of these.
 */
import type { StoredObject } from "../../sandbox/index.ts";
import { at, keyOf, listAt, numberAt, textAt } from "./fields.ts";
import type { ObservedCluster } from "./observed.ts";

const requestsResource = "containerrecreaterequests.apps.kruise.io";
const over = ["Succeeded", "Failed"];
/** A runtime that is away fails no request. */
const waitedFor = /code = Unavailable|the client is closed/;
/** A runtime that is held is looked at every 30 s, one that is sought every 10 s. */
const foundAgainMs = 60_000;

/** One container of a pod, as it was when it last ran anew. */
interface SeenContainer {
  id: string;
  restarts: number;
  /** That runs. */
  image: string;
  /** That are asked for now. */
  askedImage: string;
  askedEnv: string;
  /** How often others have been asked for since. */
  images: number;
  envs: number;
}

interface SeenRequest {
  now: StoredObject;
  /** When it was first seen. */
  readonly since: number;
  /** Containers that ran anew by it. */
  readonly served: Set<string>;
}

export class Restarts {
  readonly #cluster: ObservedCluster;
  readonly #violation: (text: string) => void;
  /** By the UID of the pod and the name of the container. */
  readonly #containers = new Map<string, SeenContainer>();
  readonly #requests = new Map<string, SeenRequest>();

  constructor(cluster: ObservedCluster, violation: (text: string) => void) {
    this.#cluster = cluster;
    this.#violation = violation;
    const { cluster: stored } = cluster.server;
    stored.subscribe("pods", ({ type, object }) => {
      if (type !== "DELETED") this.#podChanged(object);
    });
    stored.subscribe(requestsResource, ({ type, object }) => {
      if (type !== "DELETED") this.#requestChanged(object);
    });
  }

  #podChanged(pod: StoredObject): void {
    for (const spec of listAt(pod, "spec", "containers")) {
      const name = textAt(spec, "name");
      const status = statusOf(pod, name);
      const seen = this.#seen(pod, spec);
      const restarts = numberAt(status, "restartCount");
      const id = textAt(status, "containerID");
      if (id === "" || id === seen.id) continue;
      const missing = restarts - seen.restarts - this.#explained(pod, name, status, seen);
      if (missing > 0 && seen.id !== "")
        this.#violation(
          `container ${name} of ${keyOf(pod)} was restarted, and nobody asked for it: ${missing} of ${restarts - seen.restarts} times`,
        );
      const image = textAt(status, "image");
      // The first that is told of a container may be that it was stopped for another image.
      const images = image === seen.askedImage ? 0 : 1;
      Object.assign(seen, { id, restarts, image, images, envs: 0 });
    }
  }

  /** With what its pod asks for now. */
  #seen(pod: StoredObject, spec: unknown): SeenContainer {
    const key = `${pod.metadata.uid} ${textAt(spec, "name")}`;
    const askedImage = textAt(spec, "image");
    const askedEnv = environmentOf(pod, spec);
    const seen = this.#containers.get(key) ?? {
      id: "",
      restarts: 0,
      image: "",
      askedImage,
      askedEnv,
      images: 0,
      envs: 0,
    };
    this.#containers.set(key, seen);
    if (seen.askedImage !== askedImage) seen.images += 1;
    if (seen.askedEnv !== askedEnv) seen.envs += 1;
    return Object.assign(seen, { askedImage, askedEnv });
  }

  /** How many of the restarts have a reason. A request is the last one that is taken for it. */
  #explained(pod: StoredObject, name: string, status: unknown, seen: SeenContainer): number {
    const restarts = numberAt(status, "restartCount") - seen.restarts;
    const byItself = numberAt(status, "lastState", "terminated", "exitCode") === 0 ? 0 : 1;
    const differs = textAt(status, "image") !== seen.image;
    // There and back again: the same image, and perhaps a restart for each way.
    const byImage = differs ? Math.max(1, seen.images) : seen.images > 1 ? seen.images : 0;
    let explained = byItself + byImage + seen.envs;
    for (const request of this.#requests.values()) {
      if (explained >= restarts) break;
      if (!this.#asksFor(request, pod, name)) continue;
      request.served.add(name);
      explained += 1;
    }
    return explained;
  }

  #requestChanged(now: StoredObject): void {
    const { uid = "", namespace } = now.metadata;
    const request = this.#requests.get(uid) ?? {
      now,
      since: this.#cluster.clock.monotonic(),
      served: new Set(),
    };
    this.#requests.set(uid, request);
    const before = request.now;
    request.now = now;
    const pod = this.#cluster.server.cluster.get("pods", {
      ...(namespace === undefined ? {} : { namespace }),
      name: textAt(now, "spec", "podName"),
    });
    if (pod === undefined || pod.metadata.uid !== podUidOf(now)) return;
    this.#askForRuntime(request, before, pod);
    for (const container of listAt(now, "spec", "containers")) {
      const name = textAt(container, "name");
      if (phaseOf(now, name) !== "Succeeded" || phaseOf(before, name) === "Succeeded") continue;
      this.#credit(request, name);
      if (textAt(statusOf(pod, name), "containerID") === textAt(container, "statusContext", "containerID"))
        this.#violation(
          `${keyOf(now)} says that ${name} of ${keyOf(pod)} was restarted, and it is the same as before`,
        );
    }
  }

  /** An agent whose runtime has been well for long enough has found it. */
  #askForRuntime({ now, since }: SeenRequest, before: StoredObject, pod: StoredObject): void {
    const message = textAt(now, "status", "message");
    const troubledAt =
      this.#cluster.agents?.troubledAt(textAt(pod, "spec", "nodeName")) ?? Number.NEGATIVE_INFINITY;
    if (!message.includes("failed to find runtime service") || textAt(before, "status", "message") !== "")
      return;
    if (since - troubledAt > foundAgainMs) this.#violation(`${keyOf(now)}: ${message}`);
  }

  /** What a restart was taken for may wait still: the request that has ended is the one that it was for. */
  #credit(ended: SeenRequest, name: string): void {
    if (ended.served.has(name)) return;
    const other = [...this.#requests.values()].find(
      ({ now, served }) =>
        served.has(name) && podUidOf(now) === podUidOf(ended.now) && !over.includes(phaseOf(now, name)),
    );
    if (other?.served.delete(name) === true) ended.served.add(name);
  }

  /**
   * A request whose container has not run anew by it, and is not done with: it may have failed where the runtime did not tell of the
   * stop, which is carried out all the same. One by force may do it again where its agent could not keep that it has: a container that
   * somebody else made anew looks the same.
   */
  #asksFor({ now, since, served }: SeenRequest, pod: StoredObject, name: string): boolean {
    const node = textAt(pod, "spec", "nodeName");
    const damagedAt = this.#cluster.agents?.damagedAt(node);
    const troubledAt = this.#cluster.agents?.troubledAt(node);
    const isUntold =
      troubledAt !== undefined &&
      troubledAt >= since &&
      phaseOf(now, name) === "Failed" &&
      !waitedFor.test(textAt(stateOf(now, name), "message"));
    const isForgotten =
      at(now, "spec", "strategy", "forceRecreate") === true && damagedAt !== undefined && damagedAt >= since;
    return (
      podUidOf(now) === pod.metadata.uid &&
      listAt(now, "spec", "containers").some((container) => textAt(container, "name") === name) &&
      (!served.has(name) || isForgotten) &&
      (!over.includes(phaseOf(now, name)) || isUntold)
    );
  }
}

function phaseOf(request: StoredObject, name: string): string {
  return textAt(stateOf(request, name), "phase");
}

function stateOf(request: StoredObject, name: string): unknown {
  const states = listAt(request, "status", "containerRecreateStates");
  return states.find((state) => textAt(state, "name") === name);
}

function podUidOf({ metadata }: StoredObject): string | undefined {
  return metadata.labels?.["crr.apps.kruise.io/pod-uid"];
}

function statusOf(pod: StoredObject, name: string): unknown {
  return listAt(pod, "status", "containerStatuses").find((status) => textAt(status, "name") === name);
}

/** What the container takes from labels and annotations of its pod. */
function environmentOf({ metadata }: StoredObject, spec: unknown): string {
  const values = listAt(spec, "env").map((entry) => {
    const path = textAt(entry, "valueFrom", "fieldRef", "fieldPath");
    const [, from = "", key = ""] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path) ?? [];
    return textAt(metadata, from, key);
  });
  return JSON.stringify(values);
}
