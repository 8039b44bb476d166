/** `refit ui`: watches the cluster and serves the page until it is stopped. */
import { randomBytes } from "node:crypto";
import type { Call } from "../command.ts";
import { CliError } from "../errors.ts";
import { pageAssets } from "./assets.ts";
import { Fleet, type FleetOptions } from "./fleet.ts";
import { OpenWorkloads } from "./open_workloads.ts";
import { startPageServer } from "./server.ts";

export async function runUi(call: Call): Promise<number> {
  const port = portOf(call.flags.text("port") ?? "0");
  const [access, assets] = await Promise.all([call.cluster(), pageAssets()]);
  const namespace = call.flags.text("namespace");
  const options: FleetOptions = {
    access,
    host: call.host,
    ...(namespace === undefined ? {} : { namespace }),
  };
  const fleet = new Fleet(options);
  const opened = new OpenWorkloads(options, fleet);
  await fleet.start();
  const token = randomBytes(24).toString("base64url");
  try {
    const server = await startPageServer({
      assets,
      token,
      port,
      open: async (key) =>
        key === undefined ? { feed: fleet.feed, close: () => undefined } : opened.open(key),
    }).catch((cause: unknown) => {
      throw new CliError(`cannot listen on port ${port}: ${cause instanceof Error ? cause.message : cause}`, {
        cause,
      });
    });
    call.print(`The page is at ${call.paint("cyan", `http://127.0.0.1:${server.port}/?token=${token}`)}`);
    call.print("It changes nothing in the cluster. Ctrl-C ends it.");
    await untilAborted(call.io.signal);
    await server.stop();
  } finally {
    await opened.stop();
    await fleet.stop();
  }
  return 0;
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new CliError(`invalid value "${text}" for --port: must be a number from 0 to 65535`);
}
