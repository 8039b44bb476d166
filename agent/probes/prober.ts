/** One loop for each probe of the node's NodePodProbe. */
import type { NodePodProbe, NodePodProbeStatus } from "../../crds/index.ts";
import { type Clock, formatTime, jsonEqual, type Log, type Random } from "../../kube/index.ts";
import { observeContainers, type SeenContainer } from "../containers/observe.ts";
import type { CriClient } from "../cri/client.ts";
import { messageOf } from "../errors.ts";
import type { StatusWriter } from "../status_writer.ts";
import { afterProbe, type ProbeRecord } from "./result.ts";
import { type Probe, runProbe } from "./run.ts";

export interface ProberDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  readonly runtime: () => CriClient | undefined;
  /** The pod's present address, which may have changed since the probe was written; undefined when it is not known. */
  readonly podIP: (podUid: string) => string | undefined;
  readonly status: StatusWriter<NodePodProbeStatus>;
  /** A probe's state changed. */
  readonly event: (pod: ProbedPod, state: "Succeeded" | "Failed", message: string) => void;
  readonly probed?: (result: string) => void;
  readonly observe?: typeof observeContainers;
  readonly run?: typeof runProbe;
}

export interface ProbedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

interface Loop {
  readonly pod: ProbedPod;
  readonly ip: string;
  readonly name: string;
  readonly containerName: string;
  readonly probe: Probe;
  readonly abort: AbortController;
  ended: Promise<void>;
}

export interface Prober {
  update(nodePodProbe: NodePodProbe | undefined): void;
  stop(): Promise<void>;
}

export function createProber(dependencies: ProberDependencies): Prober {
  const { clock, log, random } = dependencies;
  const observe = dependencies.observe ?? observeContainers;
  const run = dependencies.run ?? runProbe;
  const loops = new Map<string, Loop>();
  const records = new Map<string, ProbeRecord>();
  const ending = new Set<Promise<void>>();
  let object: NodePodProbe | undefined;
  let firstUpdate = true;

  function update(nodePodProbe: NodePodProbe | undefined): void {
    object = nodePodProbe;
    dependencies.status.observed(nodePodProbe?.status);
    const wanted = new Map<string, Omit<Loop, "abort" | "ended">>();
    for (const { name, namespace, uid, IP, probes = [] } of nodePodProbe?.spec.podProbes ?? []) {
      for (const probe of probes) {
        const key = JSON.stringify([uid, probe.containerName, probe.name]);
        const { containerName } = probe;
        wanted.set(key, {
          pod: { namespace, name, uid },
          ip: IP,
          name: probe.name,
          containerName,
          probe: probe.probe,
        });
      }
    }
    for (const [key, loop] of loops) if (!sameLoop(loop, wanted.get(key))) end(key, loop, !wanted.has(key));
    for (const [key, loop] of wanted) if (!loops.has(key)) begin(key, loop, firstUpdate);
    firstUpdate = false;
    publish();
  }

  function end(key: string, loop: Loop, gone: boolean): void {
    loop.abort.abort(new Error("the probe is no longer wanted"));
    loops.delete(key);
    // A changed handler starts at Unknown again, a changed period does not.
    if (gone) records.delete(key);
  }

  function begin(key: string, wanted: Omit<Loop, "abort" | "ended">, spread: boolean): void {
    const before = records.get(key);
    if (before && handlerChanged.has(key)) records.delete(key);
    handlerChanged.delete(key);
    const abort = new AbortController();
    const loop: Loop = { ...wanted, abort, ended: Promise.resolve() };
    loops.set(key, loop);
    loop.ended = probeLoop(key, loop, spread).catch((error: unknown) => {
      if (!abort.signal.aborted) log.error("a probe ended", { probe: wanted.name, error });
    });
    ending.add(loop.ended);
    void loop.ended.then(() => ending.delete(loop.ended));
  }
  const handlerChanged = new Set<string>();

  function sameLoop(loop: Loop, wanted: Omit<Loop, "abort" | "ended"> | undefined): boolean {
    if (!wanted) return false;
    const { exec, httpGet, tcpSocket } = loop.probe;
    const next = wanted.probe;
    const sameHandler = jsonEqual([exec, httpGet, tcpSocket], [next.exec, next.httpGet, next.tcpSocket]);
    if (!sameHandler) handlerChanged.add(JSON.stringify([loop.pod.uid, loop.containerName, loop.name]));
    return sameHandler && loop.ip === wanted.ip && jsonEqual(loop.probe, next);
  }

  async function probeLoop(key: string, loop: Loop, spread: boolean): Promise<void> {
    const { signal } = loop.abort;
    const periodMs = Math.max(1, loop.probe.periodSeconds ?? 1) * 1000;
    // Right after the start all probes begin at once: they are spread over their period.
    if (spread) await clock.sleep(random() * periodMs, signal);
    for (;;) {
      signal.throwIfAborted();
      const began = clock.monotonic();
      await once(key, loop, signal);
      await clock.sleep(Math.max(0, periodMs - (clock.monotonic() - began)), signal);
    }
  }

  async function once(key: string, loop: Loop, signal: AbortSignal): Promise<void> {
    const client = dependencies.runtime();
    if (!client) return;
    let container: SeenContainer | undefined;
    try {
      container = (await observe(client, loop.pod.uid, signal)).get(loop.containerName);
    } catch (error) {
      signal.throwIfAborted();
      log.debug("a probe could not look at its container", { probe: loop.name, error: messageOf(error) });
      return;
    }
    if (!container) return;
    const delayMs = Math.max(1, loop.probe.initialDelaySeconds ?? 1) * 1000;
    const running = container.state === "running";
    if (running && clock.now() - container.startedAt < delayMs) return;
    const podIP = dependencies.podIP(loop.pod.uid) ?? loop.ip;
    const outcome = running
      ? await run(loop.probe, { client, containerId: container.id, podIP }, signal)
      : { state: "Failed" as const, message: `Container(${loop.containerName}) is Non-running` };
    signal.throwIfAborted();
    if (!outcome) return;
    dependencies.probed?.(outcome.state);
    const thresholds = {
      failureThreshold: loop.probe.failureThreshold ?? 1,
      successThreshold: loop.probe.successThreshold ?? 1,
    };
    const after = afterProbe(records.get(key), container.id, outcome, thresholds, clock.now());
    records.set(key, after.record);
    if (after.changed && after.record.state !== "Unknown")
      dependencies.event(loop.pod, after.record.state, after.record.message);
    if (after.publish) publish();
  }

  function publish(): void {
    if (object) dependencies.status.offer(probeStatus(object, records));
  }

  return {
    update,
    async stop() {
      for (const [key, loop] of [...loops]) end(key, loop, false);
      await Promise.all(ending);
      await dependencies.status.stop();
    },
  };
}

type PodStatus = NonNullable<NodePodProbeStatus["podProbeStatuses"]>[number];
type StateEntry = NonNullable<PodStatus["probeStates"]>[number];

/** Results of the pods and probes of the spec, in its order. What is not known here yet stays as the server has it. */
export function probeStatus(
  object: NodePodProbe,
  records: ReadonlyMap<string, ProbeRecord>,
): NodePodProbeStatus {
  const podProbeStatuses: PodStatus[] = [];
  for (const { name, namespace, uid, probes = [] } of object.spec.podProbes ?? []) {
    const before = object.status?.podProbeStatuses?.find((one) => one.uid === uid)?.probeStates ?? [];
    const probeStates = probes.flatMap((probe): StateEntry[] => {
      const record = records.get(JSON.stringify([uid, probe.containerName, probe.name]));
      const kept = before.find((one) => one.name === probe.name);
      if (!record) return kept ? [kept] : [];
      const entry = stateEntry(probe.name, record);
      // An agent that was restarted does not move the time of a state that did not change.
      return [
        kept?.state === record.state && kept.lastTransitionTime
          ? { ...entry, lastTransitionTime: kept.lastTransitionTime }
          : entry,
      ];
    });
    if (probeStates.length > 0) podProbeStatuses.push({ name, namespace, uid, probeStates });
  }
  return { podProbeStatuses };
}

function stateEntry(name: string, record: ProbeRecord): StateEntry {
  return {
    name,
    state: record.state,
    lastProbeTime: formatTime(record.publishedAt),
    lastTransitionTime: formatTime(record.lastTransitionAt),
    ...(record.message ? { message: record.message } : {}),
  };
}
