/** The agent's process: settings, credentials, signals. Runs on Node and on Deno. */
import { existsSync } from "node:fs";
import process from "node:process";
import {
  type Client,
  createClient,
  createMetrics,
  createRegistry,
  endOnUnexpectedErrors,
  type Log,
  loadCredentials,
  nodeTransport,
  systemClock,
} from "../kube/index.ts";
import { messageOf } from "./errors.ts";
import { jsonLog } from "./json_log.ts";
import { agentSettings } from "./settings.ts";
import { type Agent, startAgent } from "./start.ts";
import { agentUsage } from "./usage.ts";

/** The node's own objects are few: more requests at once would only be sockets. */
const maxConnections = 8;
const longestStopMs = 8_000;

async function main(): Promise<void> {
  if (process.argv.slice(2).some((word) => word === "--help" || word === "-h")) {
    process.stdout.write(agentUsage());
    return;
  }
  const settings = agentSettings(process.argv.slice(2), process.env, existsSync);
  const log = jsonLog({
    level: settings.logLevel,
    now: systemClock.now,
    base: { process: "agent", node: settings.nodeName },
  });
  for (const note of settings.withoutEffect) log.info(note);
  const registry = createRegistry();
  const metrics = createMetrics(registry);
  endOnUnexpectedErrors(process, log, metrics);
  const random = Math.random;
  const client = createClient({
    credentials: await loadCredentials({
      kubeconfig: settings.kubeconfig,
      env: process.env,
      clock: systemClock,
    }),
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
  endOnSignals(agent, client, log);
}

function endOnSignals(agent: Agent, client: Client, log: Log): void {
  let stopping = false;
  const stop = async (signal: string): Promise<void> => {
    if (stopping) return;
    stopping = true;
    log.info("the agent stops", { signal });
    setTimeout(() => process.exit(1), longestStopMs);
    try {
      await agent.stop();
      await client.close();
      process.exit(0);
    } catch (error) {
      log.error("the agent did not stop cleanly", { error });
      process.exit(1);
    }
  };
  process.on("SIGTERM", () => void stop("SIGTERM"));
  process.on("SIGINT", () => void stop("SIGINT"));
}

main().catch((error: unknown) => {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exit(1);
});
