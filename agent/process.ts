/** The agent's process: settings, credentials, signals. Runs on Node and on Deno, by itself or as a command of `refit`. */
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
  type Metrics,
  nodeTransport,
  systemClock,
} from "../kube/index.ts";
import { jsonLog } from "./json_log.ts";
import { type AgentSettings, agentSettings } from "./settings.ts";
import { type Agent, startAgent } from "./start.ts";
import { agentUsage } from "./usage.ts";

/** The node's own objects are few: more requests at once would only be sockets. */
const maxConnections = 8;
const longestStopMs = 8_000;

/**
 * Runs until SIGTERM or SIGINT; resolves to the exit code. `argv` are the agent's own flags, `program` is what they were typed
 * after, for the help. Rejects with AgentError `Config`, and with KubeError where there are no credentials.
 */
export async function runAgentProcess(argv: readonly string[], program: string): Promise<number> {
  if (argv.some((word) => word === "--help" || word === "-h")) {
    process.stdout.write(agentUsage(program));
    return 0;
  }
  const settings = agentSettings(argv, process.env, existsSync);
  const stopping = stopSignal();
  const log = jsonLog({
    level: settings.logLevel,
    now: systemClock.now,
    base: { process: "agent", node: settings.nodeName },
  });
  for (const note of settings.withoutEffect) log.info(note);
  const registry = createRegistry();
  const metrics = createMetrics(registry);
  endOnUnexpectedErrors(process, log, metrics);
  const client = await connect(settings, metrics, log);
  const home = process.env["HOME"];
  const starting = startAgent({ settings, client, clock: systemClock, random, log, metrics, registry, home });
  const started = starting.then(({ port }) => log.info("the agent runs", { port }));
  // A start that takes long keeps no signal waiting, and one that fails is told at once.
  const signal = await Promise.race([stopping, started.then(() => stopping)]);
  log.info("the agent stops", { signal });
  return stopped(starting, client, log);
}

const random = Math.random;

async function connect(settings: AgentSettings, metrics: Metrics, log: Log): Promise<Client> {
  return createClient({
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
}

/** Resolves at the first of them; later ones change nothing. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve(signal));
  });
}

async function stopped(starting: Promise<Agent>, client: Client, log: Log): Promise<number> {
  const limit = setTimeout(() => process.exit(1), longestStopMs);
  try {
    const agent = await starting;
    await agent.stop();
    await client.close();
    return 0;
  } catch (error) {
    log.error("the agent did not stop cleanly", { error });
    return 1;
  } finally {
    clearTimeout(limit);
  }
}
