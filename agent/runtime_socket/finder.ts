/**
 * Finds the node's container runtime and keeps hold of it: Detecting -> Ready -> Lost -> Detecting. It never gives up
 * and never throws; what depends on the runtime asks `current` and reads `reason` (spec agent 4.2).
 */
import { existsSync } from "node:fs";
import { type Clock, isKubeError, type Log } from "../../kube/index.ts";
import { methods } from "../../proto/cri/index.ts";
import type { CriCall, CriClient } from "../cri/client.ts";
import { isAgentError, messageOf } from "../errors.ts";
import { askSocket } from "./ask.ts";
import {
  type Answer,
  candidatePaths,
  chooseRuntime,
  runtimeScheme,
  type SocketSettings,
  unsupportedPaths,
} from "./candidates.ts";
import { hostSockets, type SocketFolders, type Sockets } from "./sockets.ts";

export interface Runtime {
  readonly client: CriClient;
  /** As the runtime says, equal to the scheme of container ids in pod status: `containerd`, `cri-o`, `docker`. */
  readonly name: string;
  readonly version: string;
  readonly socket: string;
}

export interface RuntimeFinder {
  /** The runtime, or undefined while there is none. */
  readonly current: Runtime | undefined;
  /** Why there is none; empty while there is one. */
  readonly reason: string;
  /** Whether all places have been looked at once. */
  readonly searched: boolean;
  /** Called with every change, and not at subscription. Returns the unsubscribe function. */
  subscribe(listener: (runtime: Runtime | undefined, reason: string) => void): () => void;
  /** A call failed as if the runtime were gone: check now instead of at the next round. */
  suspect(): void;
  stop(): Promise<void>;
}

export interface FinderDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: SocketSettings;
  /** `status.nodeInfo.containerRuntimeVersion` of the own Node, if it can be known now. */
  readonly kubeletRuntime: () => Promise<string | undefined>;
  readonly observe?: (call: CriCall) => void;
  /** Default: those of the host. */
  readonly sockets?: Sockets;
}

const shortestMs = 1_000;
const longestMs = 10_000;
const checkMs = 30_000;

/** Calls of detection itself: their failure is its own business. */
const detectionCalls = new Set(["Version", "ImageFsInfo"]);

type Listener = (runtime: Runtime | undefined, reason: string) => void;

export function startRuntimeFinder(dependencies: FinderDependencies): RuntimeFinder {
  return new SocketFinder(dependencies);
}

type Dependencies = FinderDependencies & Required<Pick<FinderDependencies, "observe" | "sockets">>;

class SocketFinder implements RuntimeFinder {
  readonly #dependencies: Dependencies;
  readonly #paths: readonly string[];
  readonly #stopping = new AbortController();
  readonly #listeners = new Set<Listener>();
  readonly #folders: SocketFolders;
  readonly #running: Promise<void>;
  #current: Runtime | undefined;
  #reason = "detection of the container runtime has not finished";
  #searched = false;
  /** Without it nobody knows whether the runtime in use is the kubelet's. */
  #kubeletKnown = false;
  #wake = new AbortController();

  constructor(dependencies: FinderDependencies) {
    const { settings, sockets = hostSockets } = dependencies;
    this.#dependencies = {
      ...dependencies,
      sockets,
      observe: (call) => {
        dependencies.observe?.(call);
        this.#called(call);
      },
    };
    this.#paths = candidatePaths(settings);
    this.#folders = sockets.folders(this.#paths, settings.roots, () => this.suspect());
    this.#running = this.#run();
  }

  get current(): Runtime | undefined {
    return this.#current;
  }

  get reason(): string {
    return this.#reason;
  }

  get searched(): boolean {
    return this.#searched;
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  suspect(): void {
    this.#wake.abort();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    this.#folders.close();
    this.#current?.client.close();
  }

  #called(call: CriCall): void {
    if (call.code === "Unavailable" && this.#current && !detectionCalls.has(call.method)) this.suspect();
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await this.#detect();
      await this.#hold();
    }
  }

  async #detect(): Promise<void> {
    const { signal } = this.#stopping;
    let waitMs = shortestMs;
    while (!signal.aborted && !this.#current) {
      this.#folders.watch();
      const found = await lookAround(this.#dependencies, this.#paths, signal);
      this.#searched = true;
      if (signal.aborted) {
        found.runtime?.client.close();
        return;
      }
      this.#kubeletKnown = found.kubelet !== undefined;
      this.#change(found.runtime, found.reason);
      if (found.runtime) return;
      // A socket appears a moment before somebody listens on it: what has changed is looked at again soon.
      waitMs = (await this.#pause(waitMs)) ? shortestMs : Math.min(waitMs * 2, longestMs);
    }
  }

  async #hold(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted && this.#current) {
      await this.#pause(checkMs);
      if (signal.aborted) return;
      const held = this.#current;
      const failure = (await check(held, signal)) ?? (await this.#foreign(held));
      if (signal.aborted) return;
      if (failure === undefined) continue;
      held.client.close();
      this.#change(undefined, `lost the container runtime at ${held.socket}: ${failure}`);
    }
  }

  /** Chosen while the Node could not be read, and now it says that the kubelet uses another: that text. */
  async #foreign(runtime: Runtime): Promise<string | undefined> {
    const { kubeletRuntime, settings } = this.#dependencies;
    if (this.#kubeletKnown || settings.socketFile.trim() !== "") return undefined;
    // Who may not read the Node will never know.
    const version = await kubeletRuntime().catch((error: unknown) =>
      isKubeError(error, "Forbidden") ? "" : undefined,
    );
    this.#kubeletKnown = version !== undefined;
    const scheme = runtimeScheme(version);
    return !scheme || scheme === runtime.name ? undefined : `the kubelet of this node uses ${scheme}`;
  }

  /** Waits until the time is over or something calls for a look: then true. */
  async #pause(ms: number): Promise<boolean> {
    const signal = AbortSignal.any([this.#wake.signal, this.#stopping.signal]);
    await this.#dependencies.clock.sleep(ms, signal).catch(() => undefined);
    const { aborted } = this.#wake.signal;
    this.#wake = new AbortController();
    return aborted;
  }

  #change(runtime: Runtime | undefined, why: string): void {
    if (runtime === this.#current && why === this.#reason) return;
    this.#current = runtime;
    this.#reason = why;
    const { log } = this.#dependencies;
    if (runtime) {
      const { socket, name, version } = runtime;
      log.info("container runtime found", { socket, runtime: name, version });
    } else log.warn(why);
    for (const listener of this.#listeners) listener(runtime, why);
  }
}

/** One round over all candidates, at the same time, so that one silent socket does not hold up the others. */
async function lookAround(
  dependencies: Dependencies,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<{ runtime: Runtime | undefined; reason: string; kubelet: string | undefined }> {
  const { settings, sockets, log } = dependencies;
  const asking = dependencies.kubeletRuntime().catch((error: unknown) => {
    log.debug("the node's runtime is not known", { error: messageOf(error) });
    return undefined;
  });
  const asked = await Promise.all(paths.map((path) => askSocket(sockets, path, dependencies, signal)));
  const useless = [...unsupportedPaths(settings)]
    .filter(([path]) => existsSync(path))
    .map(([path, detail]): Answer => ({ path, outcome: "unsupported", detail }));
  const answers = [...asked.map((one) => one.answer), ...useless];
  const kubelet = await asking;
  const choice = chooseRuntime(answers, settings, kubelet);
  const chosen = asked.find((one) => one.answer === choice.chosen);
  for (const one of asked) if (one !== chosen) one.client?.close();
  if (!choice.chosen || !chosen?.client)
    return { runtime: undefined, reason: "reason" in choice ? choice.reason : "", kubelet };
  const skipped = choice.skipped.filter((answer) => answer.outcome !== "missing");
  if (skipped.length > 0) log.info("other sockets were skipped", { skipped });
  const { path: socket, runtimeName: name = "", runtimeVersion: version = "" } = choice.chosen;
  return { runtime: { client: chosen.client, name, version, socket }, reason: "", kubelet };
}

/** The error's text, or undefined while the runtime answers. A call that is only slow is tried once more. */
async function check(runtime: Runtime, signal: AbortSignal): Promise<string | undefined> {
  for (let attempt = 0; ; attempt++) {
    try {
      const version = await runtime.client.call(methods.Version, { version: "0.1.0" }, { signal });
      const { runtime_name: name } = version;
      // Requests name their runtime: by a wrong name none of them would be carried out.
      return name === runtime.name ? undefined : `its name is ${JSON.stringify(name)}, not ${runtime.name}`;
    } catch (error) {
      if (attempt >= 1 || !isAgentError(error, "Timeout", "Unavailable")) return messageOf(error);
    }
  }
}
