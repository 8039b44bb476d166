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
import { assertSays, byName, isControlledBy, records } from "./items.ts";
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
  /** What there is, as text, for the report of a failed step. */
  readonly scene: () => Promise<string>;
  /** Absent where the suite may not start controllers. */
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

/** What a suite asks of an event; a text is the whole message. */
export interface ExpectedEvent {
  readonly type?: string;
  readonly source?: string;
  readonly message?: string | RegExp;
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

  /** That a status is about the latest generation. */
  async assertObserved(resource: ResourceName, name: string): Promise<void> {
    const { metadata, status } = await this.object(resource, name);
    assert.equal(status?.observedGeneration, metadata.generation, "observed");
  }

  /** Makes a pod fail. On a real node its kubelet does, which would set back a phase that it does not agree with. */
  async fail(pod: string): Promise<void> {
    if (this.simulated) {
      const status = { phase: "Failed", reason: "Evicted" };
      await this.patch("pods", pod, "merge", { status }, "status");
    } else await this.patch("pods", pod, "merge", { spec: { activeDeadlineSeconds: 1 } });
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

  /** Sends what must be refused with these words. */
  async refuses(
    status: number,
    send: () => Promise<unknown>,
    ...words: readonly (string | RegExp)[]
  ): Promise<void> {
    assertSays(await this.refused(send, status), ...words);
  }

  /** An object of this namespace. */
  object(resource: ResourceName, name: string): Promise<Item> {
    return this.api.get(resource, name, this.namespace);
  }

  pod(name: string): Promise<Item> {
    return this.object("pods", name);
  }

  find(resource: ResourceName, name: string): Promise<Item | undefined> {
    return this.api.find(resource, name, this.namespace);
  }

  claims(labelSelector?: string): Promise<Item[]> {
    return this.list("persistentvolumeclaims", labelSelector);
  }

  revisions(labelSelector?: string): Promise<Item[]> {
    return this.list("controllerrevisions", labelSelector);
  }

  patch(
    resource: ResourceName,
    name: string,
    type: PatchType,
    body: unknown,
    subresource?: string,
  ): Promise<Item> {
    return this.api.patch(resource, name, this.namespace, type, body, subresource);
  }

  /** Labels of a pod; null takes one away. */
  label(pod: string, labels: Readonly<Record<string, string | null>>): Promise<Item> {
    return this.patch("pods", pod, "merge", { metadata: { labels } });
  }

  annotate(pod: string, annotations: Readonly<Record<string, string | null>>): Promise<Item> {
    return this.patch("pods", pod, "merge", { metadata: { annotations } });
  }

  /** Of nodes that ordinary pods may run on, ascending. */
  async workers(): Promise<string[]> {
    const nodes = await this.api.list("nodes");
    return nodes
      .filter(({ spec }) => spec?.["unschedulable"] !== true && records(spec?.["taints"]).length === 0)
      .map(({ metadata }) => metadata.name)
      .sort();
  }

  remove(resource: ResourceName, name: string, options?: object): Promise<void> {
    return this.api.remove(resource, name, this.namespace, options);
  }

  list(resource: ResourceName, labelSelector?: string): Promise<Item[]> {
    return this.api.list(resource, this.namespace, labelSelector);
  }

  /** What an owner of this kind and name controls, also what is terminating, by name. */
  async controlled(kind: string, name: string, resource: ResourceName = "pods"): Promise<Item[]> {
    return (await this.list(resource)).filter((item) => isControlledBy(item, kind, name)).sort(byName);
  }

  /** One printed row without AGE, as `kubectl get` shows it; blank cells are left out. */
  async row(resource: ResourceName, name: string, wide = false): Promise<string> {
    const { header, rows } = await this.printed(resource, wide);
    const row = rows.find((cells) => cells[0] === name);
    if (row === undefined) throw new Error(`no row ${name}`);
    return row.filter((cell, index) => header[index] !== "AGE" && cell !== "").join(" ");
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

  /** As until, with a limit of its own. */
  within(timeoutMs: number, description: string, probe: () => Promise<void>): Promise<void> {
    return this.until(description, probe, { timeoutMs });
  }

  /** Probes until it no longer throws: for what need not stay so. */
  once(description: string, probe: () => Promise<void>, timeoutMs = 60_000): Promise<void> {
    return this.until(description, probe, { timeoutMs, stableMs: 0 });
  }

  /** Waits until the first event of this reason is as expected. */
  untilEvent(
    kind: string,
    name: string,
    reason: string,
    expected: ExpectedEvent,
    namespace?: string,
  ): Promise<void> {
    return this.once(`${reason} of ${kind} ${name}`, async () => {
      const [event] = await this.events(kind, name, reason, namespace);
      assert.ok(event !== undefined, "no such event");
      const { message, ...exact } = expected;
      assert.deepEqual({ ...event, ...exact }, event);
      if (message instanceof RegExp) assert.match(event.message, message);
      else if (message !== undefined) assert.equal(event.message, message);
    });
  }

  /** Waits until a pod's kubelet reports it as ready. */
  untilReady(pod: string, timeoutMs = 60_000): Promise<void> {
    return this.within(timeoutMs, `${pod} is ready`, async () => {
      const { status } = await this.pod(pod);
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      assert.equal(ready?.status, "True", JSON.stringify(status?.containerStatuses));
    });
  }

  untilGone(resource: ResourceName, name: string): Promise<void> {
    return this.until(`${name} is gone`, async () => {
      assert.equal(await this.find(resource, name), undefined, `${resource} ${name}`);
    });
  }

  /** For what must not change: probes for the time of the case (a tenth of it with simulated nodes). */
  async stays(probe: () => Promise<void>, ofCaseMs = 15_000): Promise<void> {
    await this.#staysFor(this.simulated ? ofCaseMs / 10 : ofCaseMs, probe);
  }

  async #staysFor(ms: number, probe: () => Promise<void>): Promise<void> {
    const end = Date.now() + ms;
    // Asking is a good part of what a real cluster has to do; what comes and goes within a second is for a trail to see.
    const restMs = this.simulated ? 300 : 1_000;
    do {
      await sleep(Math.min(restMs, Math.max(0, end - Date.now())));
      await probe();
    } while (Date.now() < end);
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

  /** The lines that a command prints that must succeed. */
  async refitLines(...argumentList: string[]): Promise<string[]> {
    return linesOf(argumentList, await this.refit(...argumentList));
  }

  /** The lines that a command prints that ends with this code. */
  async refitAnswer(code: number, ...argumentList: string[]): Promise<string[]> {
    return linesOf(argumentList, await this.refit(...argumentList), code);
  }

  /** What a command says that must fail. */
  async refitError(...argumentList: string[]): Promise<string> {
    const { code, stderr } = await this.refit(...argumentList);
    assert.notEqual(code, 0, `${argumentList.join(" ")} must fail`);
    return stderr.trim();
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

export function linesOf(
  words: readonly string[],
  { code, stdout, stderr }: CommandResult,
  expectedCode = 0,
): string[] {
  assert.equal(code, expectedCode, `${words.join(" ")}: ${stdout}${stderr}`);
  return stdout.trimEnd().split("\n");
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
