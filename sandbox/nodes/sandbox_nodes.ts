/** The simulated nodes of a sandbox, as tests and try-outs handle them: adding, killing, faults. */
import { type Clock, findCondition, type Random } from "../../kube/core/index.ts";
import { type Agenda, createAgenda } from "../agenda.ts";
import { startImagePulls } from "../agents/image_pulls.ts";
import { startProbes } from "../agents/probes.ts";
import { RecreateRequests } from "../agents/recreate_requests.ts";
import { annotationErrors, deadAnnotation, ofObject } from "../annotations.ts";
import type { Cluster, ClusterChange, StoredObject } from "../cluster.ts";
import type { EventWriter } from "../events.ts";
import { isNode, isPod, type NodeObject, type PodObject } from "../objects/index.ts";
import type { Timing } from "../stages/profile.ts";
import { clusterSink, clusterSources } from "./cluster_sink.ts";
import { type ExecResult, execute } from "./exec.ts";
import { HollowNodes } from "./hollow_nodes.ts";
import { renewLease } from "./node_lease.ts";
import { type NodeProfile, nodeObject, nodeStatus } from "./node_object.ts";
import { NodeRuntime } from "./node_runtime.ts";
import type { ContainerRun } from "./pod_run.ts";

/** Nodes with this label at `false` are left alone: somebody else plays their kubelet. */
export const hollowLabel = "sandbox.refit.dev/hollow";

interface SandboxNodesOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly random: Random;
  readonly timing: Timing;
  readonly events: EventWriter;
  readonly agent?: boolean;
  readonly agentActs?: boolean;
  /** Default `v1.34.4`. */
  readonly kubeletVersion?: string;
  readonly onError: (error: unknown, key: string) => void;
}

export class SandboxNodes {
  readonly #options: SandboxNodesOptions;
  readonly #hollow: HollowNodes;
  readonly #leases: Agenda;
  readonly #requests: RecreateRequests | undefined;
  readonly #agents: readonly { stop(): void }[];
  readonly #profiles = new Map<string, NodeProfile>();
  readonly #silentSince = new Map<string, number>();
  readonly #unsubscribe: (() => void)[] = [];
  readonly #onSilent = new Set<(node: string) => void>();
  #timing: Timing;
  #created = 0;

  constructor(options: SandboxNodesOptions) {
    this.#options = options;
    this.#timing = options.timing;
    const { cluster, clock, onError } = options;
    this.#hollow = new HollowNodes({
      ...options,
      sink: clusterSink(cluster, options.events),
      sources: clusterSources(cluster),
    });
    this.#leases = createAgenda({ clock, onError, run: (name) => this.#heartbeat(name) });
    const parts = { ...options, nodes: this.#hollow };
    const { agent = false, agentActs = true } = options;
    this.#requests = agent && agentActs ? new RecreateRequests(parts) : undefined;
    this.#agents = [
      ...(this.#requests ? [this.#requests, startImagePulls(parts)] : []),
      ...(agent ? [startProbes(parts)] : []),
    ];
    this.#subscribe();
  }

  /** Adds `n` nodes `node<i>`, or one per profile; answers their names. */
  add(nodes: number | readonly NodeProfile[]): string[] {
    const profiles = typeof nodes === "number" ? Array.from({ length: nodes }, () => ({})) : nodes;
    return profiles.map((profile) => this.#addOne(profile));
  }

  /** Takes a machine away: its Node object goes, its pods stay until the node lifecycle cleans them up. */
  remove(name: string): void {
    this.#options.cluster.remove("nodes", { name });
  }

  /** Goes silent, as a machine that lost its power or its network. */
  kill(name: string): void {
    if (!this.#silentSince.has(name)) this.#silentSince.set(name, this.#options.clock.now());
    this.#hollow.kill(name);
    for (const listener of this.#onSilent) listener(name);
  }

  revive(name: string): void {
    this.#silentSince.delete(name);
    this.#hollow.revive(name);
    this.#report(name);
  }

  /** Milliseconds since the epoch since which a node has said nothing; undefined while it lives or is not simulated. */
  silentSince(name: string): number | undefined {
    return this.#silentSince.get(name);
  }

  /** Calls when a node falls silent; returns the unsubscriber. */
  onSilent(listener: (node: string) => void): () => void {
    this.#onSilent.add(listener);
    return () => this.#onSilent.delete(listener);
  }

  /** Whether a simulated kubelet answers for this node. */
  simulates(name: string): boolean {
    return this.#hollow.node(name) !== undefined;
  }

  /** The container's process ends now with `code`. False: it does not run. */
  crashContainer(namespace: string, pod: string, container: string, code = 1): boolean {
    return this.#withContainer(namespace, pod, container, (run, now) => {
      run.endsAt = now;
      run.endCode = code;
    });
  }

  /** Forces a container's readiness until its next restart; undefined gives it back to its probe. */
  setReady(namespace: string, pod: string, container: string, ready: boolean | undefined): boolean {
    return this.#withContainer(namespace, pod, container, (run) => {
      run.probe = ready;
    });
  }

  /** Runs one of the few commands that are simulated inside a running container. */
  exec(
    namespace: string,
    pod: string,
    container: string,
    command: readonly string[],
  ): ExecResult | undefined {
    const object = this.#options.cluster.get("pods", { namespace, name: pod });
    if (!isPod(object)) return undefined;
    let result: ExecResult | undefined;
    this.#withContainer(namespace, pod, container, (run, now) => {
      if (run.state === "running") result = execute(object, run, command, now);
    });
    return result;
  }

  failPull(image: string): void {
    this.#hollow.registry.failPull(image);
  }

  slowPull(image: string, milliseconds: number): void {
    this.#hollow.registry.slowPull(image, milliseconds);
  }

  mendPull(image: string): void {
    this.#hollow.registry.mendPull(image);
    this.#hollow.lookAgain();
  }

  /** For an agent of this node that is not the sandbox's own; undefined where no kubelet is simulated. */
  runtime(name: string): NodeRuntime | undefined {
    const node = this.#hollow.node(name);
    return node && new NodeRuntime(this.#hollow, node);
  }

  images(node: string): ReadonlySet<string> {
    return this.#hollow.node(node)?.images ?? new Set();
  }

  /** Changes delays from now on, for one node or for all, also those added later. */
  setTiming(change: Partial<Timing>, node?: string): void {
    if (node === undefined) this.#timing = { ...this.#timing, ...change };
    for (const candidate of this.#hollow.nodes()) {
      if (node === undefined || candidate.name === node)
        candidate.timing = { ...candidate.timing, ...change };
    }
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#hollow.stop();
    this.#leases.stop();
    for (const agent of this.#agents) agent.stop();
  }

  #addOne(given: NodeProfile): string {
    const { cluster, clock } = this.#options;
    const profile = this.#versioned(given);
    let name = profile.name;
    while (name === undefined) {
      this.#created += 1;
      const candidate = `node${this.#created}`;
      if (!cluster.get("nodes", { name: candidate })) name = candidate;
    }
    this.#profiles.set(name, profile);
    const addresses = { hostIp: "", cidr: "" };
    const object = nodeObject(profile, name, addresses, clock.now());
    const node = this.#hollow.addNode(
      name,
      this.#profileWithTiming(profile),
      object.status?.allocatable ?? {},
    );
    cluster.create("nodes", nodeObject(profile, name, node.addresses, clock.now()));
    return name;
  }

  #versioned(profile: NodeProfile): NodeProfile {
    const { kubeletVersion } = this.#options;
    return kubeletVersion === undefined ? profile : { kubeletVersion, ...profile };
  }

  #profileWithTiming(profile: NodeProfile): NodeProfile {
    return { ...profile, timing: { ...this.#timing, ...profile.timing } };
  }

  #subscribe(): void {
    const { cluster } = this.#options;
    const listen = (resource: string, listener: (change: ClusterChange) => void) =>
      this.#unsubscribe.push(cluster.subscribe(resource, listener));
    listen("nodes", (change) => this.#nodeChanged(change));
    listen("pods", (change) => {
      if (change.type === "DELETED") this.#hollow.podGone(change.object.metadata.uid ?? "");
      else if (isPod(change.object) && change.object.spec.nodeName) this.#hollow.podChanged(change.object);
      const { namespace = "", name = "" } = change.object.metadata;
      this.#requests?.podChanged(`${namespace}/${name}`);
    });
    for (const resource of ["configmaps", "secrets", "persistentvolumeclaims"]) {
      listen(resource, ({ type, object }) => {
        const { namespace = "", name = "" } = object.metadata;
        if (type !== "DELETED") this.#hollow.inputChanged(resource, namespace, name);
      });
    }
    for (const node of cluster.list("nodes")) this.#takeUp(node);
  }

  #nodeChanged(change: ClusterChange): void {
    const name = change.object.metadata.name ?? "";
    if (change.type === "DELETED") {
      this.#hollow.removeNode(name);
      this.#silentSince.delete(name);
      this.#profiles.delete(name);
      this.#leases.drop(name);
    } else if (change.type === "ADDED") {
      this.#takeUp(change.object);
    } else {
      const node = this.#hollow.node(name);
      if (node && isNode(change.object))
        node.allocatable = change.object.status?.allocatable ?? node.allocatable;
      this.#readAnnotations(change.object, change.before);
    }
  }

  /** Does what a node's annotations ask for, where they have changed: what tests did to it stays. */
  #readAnnotations(node: StoredObject, before: StoredObject | undefined): void {
    const name = node.metadata.name ?? "";
    if (!this.simulates(name)) return;
    const isDead = ofObject(node.metadata, deadAnnotation) ?? false;
    const wasDead = (before && ofObject(before.metadata, deadAnnotation)) ?? false;
    if (isDead && !wasDead) this.kill(name);
    if (wasDead && !isDead) this.revive(name);
    const errors = annotationErrors(node.metadata, "node").join("; ");
    if (errors !== "" && errors !== annotationErrors(before?.metadata ?? {}, "node").join("; "))
      this.#options.events.write(node, "Warning", "InvalidAnnotation", errors, "kubelet", name);
  }

  /** Any Node object gets a simulated kubelet, whoever created it. */
  #takeUp(object: StoredObject): void {
    const name = object.metadata.name ?? "";
    if (object.metadata.labels?.[hollowLabel] === "false") return;
    const node: NodeObject = isNode(object) ? object : { ...object, spec: {} };
    const profile = this.#profileWithTiming(this.#profiles.get(name) ?? this.#versioned({}));
    const planned = nodeStatus(node, profile, "", 0);
    const simulated = this.#hollow.addNode(name, profile, planned.allocatable ?? {});
    if (!findCondition(node.status?.conditions, "Ready")) this.#report(name);
    const { cluster } = this.#options;
    for (const pod of cluster.list("pods")) {
      if (isPod(pod) && pod.spec.nodeName === name) this.#hollow.podChanged(pod);
    }
    const { leaseMs } = simulated.timing.heartbeat;
    if (leaseMs > 0) this.#leases.add(name, this.#options.random() * leaseMs);
    this.#readAnnotations(object, undefined);
  }

  /** Writes the status of a living node. */
  #report(name: string): void {
    const { cluster, clock } = this.#options;
    const simulated = this.#hollow.node(name);
    if (!simulated) return;
    cluster.update("nodes", { name }, (draft) => {
      const status = nodeStatus(draft, simulated.profile, simulated.addresses.hostIp, clock.now());
      draft["status"] = { ...(isNode(draft) ? draft.status : {}), ...status };
    });
  }

  #heartbeat(name: string): number | undefined {
    const simulated = this.#hollow.node(name);
    if (!simulated) return undefined;
    const { leaseMs } = simulated.timing.heartbeat;
    if (simulated.alive) renewLease(this.#options.cluster, name, leaseMs, this.#options.clock.now());
    return leaseMs > 0 ? leaseMs : undefined;
  }

  #withContainer(
    namespace: string,
    name: string,
    container: string,
    change: (run: ContainerRun, now: number) => void,
  ): boolean {
    const pod: PodObject | StoredObject | undefined = this.#options.cluster.get("pods", { namespace, name });
    return this.#hollow.withContainer(pod?.metadata.uid ?? "", container, change);
  }
}
