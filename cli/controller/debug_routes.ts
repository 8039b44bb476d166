/**
 * What the controller serves on loopback to whoever looks into it: profiles under the paths of Go's endpoint, in the formats of
 * the runtime's own tools, and the verbosity of the log as components of Kubernetes take it.
 */
import type { Session } from "node:inspector/promises";
import { type Clock, type Log, plainText, type Reply, type Route, type Routes } from "../../kube/index.ts";
import { mostVerbose, type Verbosity } from "./verbosity.ts";

export interface DebugDeps {
  readonly verbosity: Verbosity;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends a profile that is being taken. */
  readonly signal: AbortSignal;
}

const usualSeconds = 30;
const mostSeconds = 300;

export function debugRoutes(deps: DebugDeps): Routes {
  return {
    "/debug/flags/v": {
      GET: async () => plainText(200, `${deps.verbosity.value}\n`),
      PUT: async (body) => setVerbosity(body, deps),
    },
    "/debug/pprof/profile": profileRoute(deps, "CPU", async (session, pause) => {
      await session.post("Profiler.enable");
      await session.post("Profiler.start");
      await pause();
      return (await session.post("Profiler.stop")).profile;
    }),
    "/debug/pprof/heap": profileRoute(deps, "heap", async (session, pause) => {
      await session.post("HeapProfiler.startSampling");
      await pause();
      return (await session.post("HeapProfiler.stopSampling")).profile;
    }),
  };
}

function setVerbosity(body: string, { verbosity, log }: DebugDeps): Reply {
  const text = body.trim();
  const value = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= mostVerbose)) return plainText(400, `must be a number from 0 to ${mostVerbose}\n`);
  log.info("the verbosity of the log changes", { from: verbosity.value, to: value });
  verbosity.value = value;
  return plainText(200, `successfully set verbosity to ${value}\n`);
}

/** Measures for `?seconds=N`. Requests at the same time share one profile. */
function profileRoute(
  { clock, log, signal }: DebugDeps,
  kind: string,
  measure: (session: Session, pause: () => Promise<void>) => Promise<object>,
): Route {
  return async ({ query }) => {
    const text = query.get("seconds") ?? String(usualSeconds);
    const seconds = /^\d{1,3}$/.test(text) ? Number(text) : 0;
    if (seconds < 1 || seconds > mostSeconds)
      return plainText(400, `seconds must be a number from 1 to ${mostSeconds}\n`);
    log.info("a profile is being taken", { kind, seconds });
    // Loaded when it is asked for: few processes are ever profiled.
    const inspector = await import("node:inspector/promises");
    const session = new inspector.Session();
    session.connect();
    try {
      const profile = await measure(session, () => clock.sleep(seconds * 1000, signal));
      return { status: 200, contentType: "application/json", body: JSON.stringify(profile) };
    } catch (error) {
      if (signal.aborted) return plainText(503, "the controller stops\n");
      throw error;
    } finally {
      session.disconnect();
    }
  };
}
