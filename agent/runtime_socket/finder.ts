/**
 * Finds the node's container runtime and keeps hold of it: Detecting -> Ready -> Lost -> Detecting. It never gives up
 * and never throws; what depends on the runtime asks `current` and reads `reason` (spec agent 4.2).
 */
import { existsSync, type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
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
}

const shortestMs = 1_000;
const longestMs = 10_000;
const checkMs = 30_000;

export function startRuntimeFinder(dependencies: FinderDependencies): RuntimeFinder {
  const { clock, log, settings } = dependencies;
  const stopping = new AbortController();
  const listeners = new Set<(runtime: Runtime | undefined, reason: string) => void>();
  const paths = candidatePaths(settings);
  let current: Runtime | undefined;
  let reason = "detection of the container runtime has not finished";
  let searched = false;
  /** Without it nobody knows whether the runtime in use is the kubelet's. */
  let kubeletKnown = false;
  let wake = new AbortController();

  function change(runtime: Runtime | undefined, why: string): void {
    if (runtime === current && why === reason) return;
    current = runtime;
    reason = why;
    if (runtime)
      log.info("container runtime found", {
        socket: runtime.socket,
        runtime: runtime.name,
        version: runtime.version,
      });
    else log.warn(why);
    for (const listener of listeners) listener(runtime, why);
  }

  /** Waits until the time is over or something calls for a look: then true. */
  async function pause(ms: number): Promise<boolean> {
    const signal = AbortSignal.any([wake.signal, stopping.signal]);
    await clock.sleep(ms, signal).catch(() => undefined);
    const { aborted } = wake.signal;
    wake = new AbortController();
    return aborted;
  }

  async function detect(): Promise<void> {
    let waitMs = shortestMs;
    while (!stopping.signal.aborted && !current) {
      folders.watch();
      const found = await lookAround(dependencies, paths, stopping.signal);
      searched = true;
      if (stopping.signal.aborted) {
        found.runtime?.client.close();
        return;
      }
      kubeletKnown = found.kubelet !== undefined;
      change(found.runtime, found.reason);
      if (found.runtime) return;
      // A socket appears a moment before somebody listens on it: what has changed is looked at again soon.
      waitMs = (await pause(waitMs)) ? shortestMs : Math.min(waitMs * 2, longestMs);
    }
  }

  async function hold(): Promise<void> {
    while (!stopping.signal.aborted && current) {
      await pause(checkMs);
      if (stopping.signal.aborted) return;
      const failure = (await check(current, stopping.signal)) ?? (await foreign(current));
      if (stopping.signal.aborted) return;
      if (failure === undefined) continue;
      current.client.close();
      change(undefined, `lost the container runtime at ${current.socket}: ${failure}`);
    }
  }

  /** Chosen while the Node could not be read, and now it says that the kubelet uses another: that text. */
  async function foreign(runtime: Runtime): Promise<string | undefined> {
    if (kubeletKnown || settings.socketFile.trim() !== "") return undefined;
    // Who may not read the Node will never know.
    const version = await dependencies
      .kubeletRuntime()
      .catch((error: unknown) => (isKubeError(error, "Forbidden") ? "" : undefined));
    kubeletKnown = version !== undefined;
    const scheme = runtimeScheme(version);
    return !scheme || scheme === runtime.name ? undefined : `the kubelet of this node uses ${scheme}`;
  }

  const folders = watchFolders(paths, settings.roots, () => wake.abort());
  const running = (async () => {
    while (!stopping.signal.aborted) {
      await detect();
      await hold();
    }
  })();

  return {
    get current() {
      return current;
    },
    get searched() {
      return searched;
    },
    get reason() {
      return reason;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    suspect: () => wake.abort(),
    async stop() {
      stopping.abort();
      await running;
      folders.close();
      current?.client.close();
    },
  };
}

/** One round over all candidates, at the same time, so that one silent socket does not hold up the others. */
async function lookAround(
  dependencies: FinderDependencies,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<{ runtime: Runtime | undefined; reason: string; kubelet: string | undefined }> {
  const { clock, observe, settings, log } = dependencies;
  const options = observe ? { clock, observe } : { clock };
  const asking = dependencies.kubeletRuntime().catch((error: unknown) => {
    log.debug("the node's runtime is not known", { error: messageOf(error) });
    return undefined;
  });
  const asked = await Promise.all(paths.map((path) => askSocket(path, options, signal)));
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
      await runtime.client.call(methods.Version, { version: "0.1.0" }, { signal });
      return undefined;
    } catch (error) {
      if (attempt >= 1 || !isAgentError(error, "Timeout", "Unavailable")) return messageOf(error);
    }
  }
}

/**
 * Wakes detection when a socket, or a folder on the way to one, appears. `watch` looks for the folders anew: they come
 * and go with the runtime.
 */
function watchFolders(
  paths: readonly string[],
  roots: readonly string[],
  wake: () => void,
): { watch(): void; close(): void } {
  const watchers: FSWatcher[] = [];
  const names = new Set<string>();
  const folders = new Set<string>();
  for (const path of paths) {
    for (let at = path; at !== dirname(at); at = dirname(at)) {
      names.add(basename(at));
      folders.add(dirname(at));
      if (roots.includes(dirname(at))) break;
    }
  }
  const close = (): void => {
    for (const watcher of watchers.splice(0)) watcher.close();
  };
  return {
    close,
    watch() {
      close();
      for (const folder of folders) {
        try {
          const watcher = watch(folder, { persistent: false }, (_, name) => {
            if (name === null || names.has(name)) wake();
          });
          watcher.on("error", () => watcher.close());
          watchers.push(watcher);
        } catch {
          // Not there, or not readable: its parents and the rounds notice it.
        }
      }
    },
  };
}
