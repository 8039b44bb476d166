/** What a suite sees: one namespace of a cluster, and the verbs to act there and to wait. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { builtProgram } from "../built.ts";
import type { AgentProcess } from "../cluster/agents.ts";
import {
  type Api,
  ApiError,
  type Item,
  isRecord,
  type PatchType,
  type ResourceName,
} from "../cluster/api.ts";
import type { ClusterFaults } from "../cluster/cluster.ts";
import { Patience } from "../cluster/patience.ts";
import type { ControllerProcess, ControllerSettings } from "./controllers.ts";
import { volumeFolder } from "./manifests.ts";
import type { ApiVersion, StepResult } from "./step_result.ts";
import { Trail } from "./trail.ts";

export interface WorldOptions {
  readonly api: Api;
  readonly kubeconfig: string;
  readonly namespace: string;
  readonly version: ApiVersion;
  readonly suite: string;
  readonly simulated: boolean;
  /** Whether node agents (or their simulation) run on the nodes. */
  readonly agents: boolean;
  readonly nodeAgents: readonly AgentProcess[];
  readonly report: (result: StepResult) => void;
  /** Absent where the suite may not start controllers. */
  /** What there is, as text, for the report of a failed step. */
  readonly scene: () => Promise<string>;
  readonly startController?: (settings: ControllerSettings) => Promise<ControllerProcess>;
  /** Absent where the suite may not break things. */
  readonly faults?: ClusterFaults;
}

export interface EventSeen {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly source: string;
  readonly count: number;
}

export interface WaitOptions {
  /** Default 60 s. */
  readonly timeoutMs?: number;
  /** For how long the probe must hold after it first did; default 5 s, less with simulated nodes. */
  readonly stableMs?: number;
}

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The steps of a suite depend on each other: a failed one ends it. */
export class StepFailed extends Error {}

export class World {
  readonly api: Api;
  readonly namespace: string;
  readonly version: ApiVersion;
  readonly kubeconfig: string;
  /** True when nodes are simulated: waiting windows are shorter then. */
  readonly simulated: boolean;
  readonly agents: boolean;
  /** The agents of real nodes, which a suite that runs alone may end and start; empty on the sandbox. */
  readonly nodeAgents: readonly AgentProcess[];
  /** The CloneSets of this namespace in this world's version. */
  readonly cloneSets: ResourceName;
  readonly #options: WorldOptions;
  readonly #trails: Trail[] = [];
  readonly #volumes: string[] = [];

  constructor(options: WorldOptions) {
    this.#options = options;
    this.api = options.api;
    this.namespace = options.namespace;
    this.version = options.version;
    this.kubeconfig = options.kubeconfig;
    this.simulated = options.simulated;
    this.agents = options.agents;
    this.nodeAgents = options.nodeAgents;
    this.cloneSets = `clonesets.${options.version}.apps.kruise.io`;
  }

  /** Runs one step of the case and reports it; throws StepFailed when it does not hold. */
  async step(name: string, work: () => Promise<void>): Promise<void> {
    const { suite, report, scene } = this.#options;
    try {
      await work();
      report({ outcome: "passed", suite, step: name });
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      report({ outcome: "failed", suite, step: name, error: `${text}\n${await scene()}` });
      throw new StepFailed(name);
    }
  }

  skip(step: string, reason: string): void {
    this.#options.report({ outcome: "skipped", suite: this.#options.suite, step, reason });
  }

  /** Waits until a status is about the latest generation: whoever watches knows the object then. */
  untilObserved(resource: ResourceName, name: string): Promise<void> {
    return this.until(`${name} is known`, () => this.#assertObserved(resource, name), { stableMs: 0 });
  }

  async #assertObserved(resource: ResourceName, name: string): Promise<void> {
    const { metadata, status } = await this.api.get(resource, name, this.namespace);
    assert.equal(status?.["observedGeneration"], metadata.generation, "observed");
  }

  /** Makes a pod fail. On a real node its kubelet does, which would set back a phase that it does not agree with. */
  async fail(pod: string): Promise<void> {
    if (this.simulated) {
      const status = { phase: "Failed", reason: "Evicted" };
      await this.api.patch("pods", pod, this.namespace, "merge", { status }, "status");
    } else await this.patch(pod, "merge", { spec: { activeDeadlineSeconds: 1 } }, "pods");
  }

  /** Seconds of a manifest: those of the case on a cluster, fewer where time is simulated by the tests' patience. */
  seconds(ofCase: number, simulated = 1): number {
    return this.simulated ? simulated : ofCase;
  }

  /** Creates the object, or merges it onto the one that exists. */
  async apply(manifest: object): Promise<Item> {
    try {
      return await this.api.create(manifest, this.namespace);
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") throw error;
      const { apiVersion, kind, metadata } = asManifest(manifest);
      const [group = "", version = ""] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
      const plural = `${kind.toLowerCase()}s`;
      const resource = group === "" ? plural : `${plural}.${version}.${group}`;
      return this.api.patch(resource, metadata.name, this.namespace, "merge", manifest);
    }
  }

  /** Applies volumes; they belong to no namespace, so the end of the suite removes them. */
  async applyVolumes(manifests: readonly object[]): Promise<void> {
    for (const manifest of manifests) {
      this.#volumes.push((await this.api.create(manifest)).metadata.name);
    }
  }

  /** Sends what must be refused; returns the refusal. */
  async refused(send: () => Promise<unknown>, status: number): Promise<string> {
    try {
      await send();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      assert.equal(error.status, status, error.message);
      return error.message;
    }
    throw new Error(`accepted, but must be refused with ${status}`);
  }

  get(name: string): Promise<Item> {
    return this.api.get(this.cloneSets, name, this.namespace);
  }

  patch(name: string, type: PatchType, body: unknown, resource = this.cloneSets): Promise<Item> {
    return this.api.patch(resource, name, this.namespace, type, body);
  }

  async scale(name: string, replicas: number): Promise<Item> {
    return this.api.patch(this.cloneSets, name, this.namespace, "merge", { spec: { replicas } }, "scale");
  }

  remove(resource: ResourceName, name: string, options?: object): Promise<void> {
    return this.api.remove(resource, name, this.namespace, options);
  }

  list(resource: ResourceName, labelSelector?: string): Promise<Item[]> {
    return this.api.list(resource, this.namespace, labelSelector);
  }

  /** Pods whose controller is the named CloneSet, also terminating ones, by name. */
  async podsOf(name: string): Promise<Item[]> {
    const pods = await this.list("pods");
    return pods
      .filter((pod) =>
        pod.metadata.ownerReferences?.some(
          (owner) => owner.controller && owner.kind === "CloneSet" && owner.name === name,
        ),
      )
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  /** Those of podsOf that are neither finished nor being deleted. */
  async livePodsOf(name: string): Promise<Item[]> {
    return (await this.podsOf(name)).filter(
      (pod) =>
        pod.metadata.deletionTimestamp === undefined &&
        pod.status?.phase !== "Failed" &&
        pod.status?.phase !== "Succeeded",
    );
  }

  /** One printed row without AGE, as `kubectl get` shows it; blank cells are left out. */
  async row(name: string, options: { resource?: ResourceName; wide?: boolean } = {}): Promise<string> {
    const { header, rows } = await this.printed(options.resource ?? this.cloneSets, options.wide ?? false);
    const row = rows.find((cells) => cells[0] === name);
    if (row === undefined) throw new Error(`no row ${name}`);
    return row.filter((cell, index) => header[index] !== "AGE" && cell !== "").join(" ");
  }

  /** The row once the status is about the latest generation: a change may leave every number as it was. */
  async observedRow(name: string, resource: ResourceName = this.cloneSets): Promise<string> {
    await this.#assertObserved(resource, name);
    return this.row(name, { resource });
  }

  async printed(resource: ResourceName, wide = false): Promise<{ header: string[]; rows: string[][] }> {
    const table = await this.api.table(resource, this.namespace);
    const shown = table.columnDefinitions
      .map((column, index) => ({ column, index }))
      .filter(({ column }) => wide || column.priority === 0);
    return {
      header: shown.map(({ column }) => column.name.toUpperCase()),
      rows: table.rows.map(({ cells }) => shown.map(({ index }) => String(cells[index] ?? ""))),
    };
  }

  async events(
    kind: string,
    name: string,
    reason?: string,
    namespace = this.namespace,
  ): Promise<EventSeen[]> {
    const events = await this.api.list("events", namespace);
    return events
      .filter((event) => {
        const about = event["involvedObject"];
        return isRecord(about) && about["kind"] === kind && about["name"] === name;
      })
      .map((event) => ({
        type: String(event["type"] ?? ""),
        reason: String(event["reason"] ?? ""),
        message: String(event["message"] ?? ""),
        source: componentOf(event),
        count: Number(event["count"] ?? 1) || 1,
      }))
      .filter((event) => reason === undefined || event.reason === reason);
  }

  /** Probes until it no longer throws, then that it goes on so; the last failure becomes the message. */
  async until(description: string, probe: () => Promise<void>, options: WaitOptions = {}): Promise<void> {
    const timeoutMs = options.timeoutMs ?? 60_000;
    const stableMs = options.stableMs ?? (this.simulated ? 300 : 5_000);
    const patience = new Patience(timeoutMs);
    let last = "";
    while (!patience.isOver) {
      const begun = performance.now();
      try {
        await probe();
        await this.#staysFor(stableMs, probe);
        return;
      } catch (error) {
        last = error instanceof Error ? error.message : String(error);
      }
      // On a busy machine asking is slow, and is part of what keeps it busy.
      await sleep(Math.min(2_000, Math.max(200, 2 * (performance.now() - begun))));
    }
    throw new Error(`not reached within ${patience}: ${description}: ${last}`);
  }

  /** For what must not change: probes for the time of the case (a tenth of it with simulated nodes). */
  async stays(probe: () => Promise<void>, ofCaseMs = 15_000): Promise<void> {
    await this.#staysFor(this.simulated ? ofCaseMs / 10 : ofCaseMs, probe);
  }

  async #staysFor(ms: number, probe: () => Promise<void>): Promise<void> {
    const end = Date.now() + ms;
    do {
      await sleep(Math.min(300, Math.max(0, end - Date.now())));
      await probe();
    } while (Date.now() < end);
  }

  /** Waits for the printed row of a CloneSet. */
  async untilRow(expected: string, options: WaitOptions = {}): Promise<void> {
    const name = expected.split(" ")[0] ?? "";
    await this.until(expected, async () => assert.equal(await this.observedRow(name), expected), options);
  }

  /** Waits until `count` pods are owned and every number of the row is `count`. */
  async untilAll(name: string, count: number, options: WaitOptions = {}): Promise<Item[]> {
    await this.untilRow([name, ...Array(6).fill(count)].join(" "), options);
    return this.livePodsOf(name);
  }

  /** Waits until every pod's first container has the image and the row is complete. */
  async untilAllUpdated(
    name: string,
    count: number,
    image: string,
    options: WaitOptions = {},
  ): Promise<void> {
    await this.until(
      `${name} at ${image}`,
      async () => {
        const pods = await this.podsOf(name);
        const images = pods.map((pod) => pod.spec?.containers?.[0]?.image);
        assert.deepEqual(images, Array(count).fill(image));
        assert.equal(await this.row(name), [name, ...Array(6).fill(count)].join(" "));
      },
      { timeoutMs: 120_000, ...options },
    );
  }

  async trail(resource: ResourceName = "pods", labelSelector?: string): Promise<Trail> {
    const trail = new Trail(this.api, resource, this.namespace, labelSelector);
    this.#trails.push(trail);
    return trail.start();
  }

  /** Runs the built command line against this namespace. */
  refit(...argumentList: string[]): Promise<CommandResult> {
    return this.refitWhile(async () => undefined, ...argumentList);
  }

  /** As refit; calls `onFirstLine` once when the command has printed something. */
  refitWhile(onFirstLine: () => Promise<void>, ...argumentList: string[]): Promise<CommandResult> {
    const root = new URL("../../", import.meta.url).pathname;
    const words = [
      builtProgram("refit"),
      ...argumentList,
      "--kubeconfig",
      this.kubeconfig,
      "-n",
      this.namespace,
    ];
    return new Promise((resolve, reject) => {
      const options = { cwd: root, timeout: 120_000 };
      const child = execFile(process.execPath, words, options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : 128;
        resolve({ code, stdout, stderr });
      });
      child.stdout?.once("data", () => void onFirstLine().catch(reject));
    });
  }

  startController(settings: ControllerSettings = {}): Promise<ControllerProcess> {
    if (this.#options.startController === undefined) throw new Error("this suite may not start controllers");
    return this.#options.startController(settings);
  }

  get faults(): ClusterFaults {
    if (this.#options.faults === undefined) throw new Error("this suite may not break the cluster");
    return this.#options.faults;
  }

  /** Ends the watches and removes what has no namespace. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#trails.map((trail) => trail.stop()));
    for (const name of this.#volumes) {
      await this.api.remove("persistentvolumes", name).catch(() => undefined);
      // A node on this machine has made the folder.
      rmSync(join(volumeFolder, name), { recursive: true, force: true });
    }
  }
}

/** What wrote the event. */
export function componentOf(event: Item): string {
  const source = event["source"];
  const component = isRecord(source) ? String(source["component"] ?? "") : "";
  return component || String(event["reportingComponent"] ?? "");
}

function asManifest(value: object): { apiVersion: string; kind: string; metadata: { name: string } } {
  const { apiVersion, kind, metadata } = { apiVersion: "", kind: "", metadata: { name: "" }, ...value };
  return { apiVersion, kind, metadata };
}
