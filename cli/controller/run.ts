/** The controller's command once it is called: this loads all of the controller. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import {
  endOnUnexpectedErrors,
  Fence,
  followEventLoop,
  type Log,
  type Metrics,
  pinoLog,
} from "../../kube/index.ts";
import type { Call } from "../command.ts";
import { connectFlags } from "../connect_flags.ts";
import { observe } from "./metrics.ts";
import { startControllerProcess } from "./process.ts";
import { type ProcessSettings, processSettings } from "./settings.ts";
import { textLog } from "./text_log.ts";
import { Verbosity } from "./verbosity.ts";

export async function runController(call: Call): Promise<number> {
  const settings = processSettings(call.flags, call.io.env);
  const { clock, random } = call.host;
  const verbosity = new Verbosity(settings.log.verbosity);
  const log = logOf(call, settings, verbosity);
  const observed = observe({ stages: settings.stageMetrics });
  const expectNone = endOnUnexpectedErrors(call.host.process, log, observed.metrics);
  const connect = (metrics: Metrics, fence?: Fence) =>
    call.host.connect({
      ...connectFlags(call.flags, call.io.stderr),
      userAgent: "kruise-manager",
      env: call.io.env,
      metrics,
      log,
      fence,
    });
  const fence = new Fence();
  const connection = await connect(observed.metrics, fence);
  // The gauges of the window are about that of the controllers, and so are the stages of their writes.
  const forAdmission = await connect({ ...observed.metrics, window: () => undefined, stages: undefined });
  const { stages } = observed.metrics;
  const unfollow = stages && followEventLoop(clock, stages);
  try {
    const running = await startControllerProcess({
      client: connection.client,
      admissionClient: forAdmission.client,
      clock,
      random,
      log,
      settings,
      verbosity,
      fence,
      identity: `${hostname()}_${randomUUID()}`,
      observed,
    });
    try {
      await Promise.race([running.failed, aborted(call.io.signal)]);
    } finally {
      await running.stop();
    }
    return 0;
  } finally {
    expectNone();
    unfollow?.();
    await Promise.all([connection.client.close(), forAdmission.client.close()]);
  }
}

function logOf(call: Call, { log }: ProcessSettings, verbosity: Verbosity): Log {
  const now = (): number => call.host.clock.now();
  if (log.format === "text") return textLog(call.io.stderr, now, () => verbosity.level);
  const destination = { write: (line: string) => void call.io.stderr.write(line) };
  return pinoLog({ level: () => verbosity.level, now, destination });
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
