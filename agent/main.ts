/** The agent's process: settings, credentials, signals. Runs on Node and on Deno. */
import { existsSync } from "node:fs";
import process from "node:process";
import {
  createClient,
  createMetrics,
  createRegistry,
  loadCredentials,
  nodeTransport,
  systemClock,
} from "../kube/index.ts";
import { messageOf } from "./errors.ts";
import { jsonLog } from "./json_log.ts";
import { agentSettings } from "./settings.ts";
import { startAgent } from "./start.ts";

/** The node's own objects are few: more requests at once would only be sockets. */
const maxConnections = 8;

async function main(): Promise<void> {
  const settings = agentSettings(process.argv.slice(2), process.env, existsSync);
  const log = jsonLog({
    level: settings.logLevel,
    now: systemClock.now,
    base: { process: "agent", node: settings.nodeName },
  });
  for (const note of settings.withoutEffect) log.info(note);
  const registry = createRegistry();
  const metrics = createMetrics(registry);
  const random = Math.random;
  const credentials = await loadCredentials({
    kubeconfig: settings.kubeconfig,
    env: process.env,
    clock: systemClock,
  });
  const client = createClient({
    credentials,
    clock: systemClock,
    random,
    userAgent: "kruise-daemon",
    transport: nodeTransport({ clock: systemClock, connections: maxConnections }),
    metrics,
    log,
  });
  const home = process.env["HOME"];
  const agent = await startAgent({
    settings,
    client,
    clock: systemClock,
    random,
    log,
    metrics,
    registry,
    home,
  });
  log.info("the agent runs", { port: agent.port });
  let stopping = false;
  const stop = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    log.info("the agent stops", { signal });
    const force = setTimeout(() => process.exit(1), 8_000);
    agent.stop().then(
      async () => {
        await client.close();
        clearTimeout(force);
        process.exit(0);
      },
      (error: unknown) => {
        log.error("the agent did not stop cleanly", { error });
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", () => stop("SIGTERM"));
  process.on("SIGINT", () => stop("SIGINT"));
  // A mistake in one feature must not end the others; it is loud in the log.
  process.on("unhandledRejection", (error) => log.error("unhandled rejection", { error }));
}

main().catch((error: unknown) => {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exit(1);
});
