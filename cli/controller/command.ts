import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type Log, pinoLog } from "../../kube/index.ts";
import type { Call, Command } from "../command.ts";
import { controllerFlags } from "./controller_flags.ts";
import { observe, startControllerProcess } from "./process.ts";
import { type ProcessSettings, processSettings } from "./settings.ts";
import { textLog } from "./text_log.ts";

export const controller: Command = {
  name: "controller",
  summary: "Run the controller: reconcile workloads, answer admission and conversion.",
  usage: "[flags]",
  details: `Takes the flags and environment of the reference's manager: POD_NAMESPACE, WEBHOOK_HOST, WEBHOOK_PORT,
WEBHOOK_CERT_DIR, WEBHOOK_CERT_WRITER, SECRET_NAME, SERVICE_NAME, CERTS_RENEW_BEFORE, CUSTOM_RESOURCE_ENABLE.
Install the definitions first ("refit install"). --namespace restricts it to one namespace.
Ctrl-C or SIGTERM lets writes in flight finish and gives the lease back.`,
  examples: [
    "refit controller",
    "WEBHOOK_HOST=127.0.0.1 refit controller --kubeconfig kubeconfig --enable-leader-election=false",
  ],
  flags: controllerFlags,
  run: runController,
};

async function runController(call: Call): Promise<number> {
  const settings = processSettings(call.flags, call.io.env);
  const { clock, random } = call.host;
  const log = logOf(call, settings);
  const observed = observe();
  const connection = await call.host.connect({
    kubeconfig: call.flags.text("kubeconfig"),
    context: call.flags.text("context"),
    timeoutMs: call.flags.milliseconds("request-timeout"),
    userAgent: "kruise-manager",
    env: call.io.env,
    metrics: observed.metrics,
    log,
  });
  try {
    const running = await startControllerProcess({
      client: connection.client,
      clock,
      random,
      log,
      settings,
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
    await connection.client.close();
  }
}

function logOf(call: Call, { log }: ProcessSettings): Log {
  const now = (): number => call.host.clock.now();
  if (log.format === "text") return textLog(call.io.stderr, now, log.level);
  const destination = { write: (line: string) => void call.io.stderr.write(line) };
  return pinoLog({ level: log.level, now, destination });
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
