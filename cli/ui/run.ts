/** `refit ui`: serves the page until it is stopped, over the cluster that it watches or over a recording. */
import { randomBytes } from "node:crypto";
import type { Call, ClusterAccess } from "../command.ts";
import { CliError } from "../errors.ts";
import { Acting } from "./acting/acting.ts";
import { assetsForActing } from "./http/acting_assets.ts";
import { pageAssets } from "./http/assets.ts";
import { type PageServerOptions, startPageServer } from "./http/server.ts";
import { OpenWorkloads } from "./open_workloads.ts";
import { Planning } from "./planning/planning.ts";
import { assetsWithRecording } from "./recording/recorded_assets.ts";
import { startRecording } from "./recording/start_recording.ts";
import { Fleet, type FleetOptions } from "./watching/fleet.ts";

export async function runUi(call: Call): Promise<number> {
  const port = portOf(call.flags.text("port") ?? "0");
  const [file] = call.words;
  if (file === undefined) await showCluster(call, port);
  else await showFile(call, port, file);
  return 0;
}

async function showFile(call: Call, port: number, path: string): Promise<void> {
  if (call.flags.given("record"))
    throw new CliError("--record records a cluster: leave out the flag, or the file that is shown");
  if (call.flags.on("allow-changes"))
    throw new CliError("--allow-changes needs a cluster: leave out the flag, or the file that is shown");
  const assets = await assetsWithRecording(await pageAssets(), path);
  await serve(call, port, { assets, open: async () => undefined }, `It shows ${path}.`);
}

async function showCluster(call: Call, port: number): Promise<void> {
  const [access, assets] = await Promise.all([call.cluster(), pageAssets()]);
  const namespace = call.flags.text("namespace");
  const options: FleetOptions = {
    access,
    host: call.host,
    ...(namespace === undefined ? {} : { namespace }),
  };
  await using started = new AsyncDisposableStack();
  const { fleet, opened } = await watch(options, started);
  const path = call.flags.text("record");
  const open = (key: string) => opened.open(key);
  const recording =
    path === undefined ? undefined : await startRecording(call, path, assets, { fleet: fleet.feed, open });
  started.defer(async () => recording?.stop());
  const openFeed = opener(fleet, (key) => {
    recording?.opened(key);
    return open(key);
  });
  const said = path === undefined ? "" : ` It is recorded to ${path}.`;
  const page = { assets, open: openFeed, planning: planningOver(options, fleet) };
  if (call.flags.on("allow-changes")) {
    const acting = actingOver(call, access, fleet, opened);
    const changing = { ...page, assets: assetsForActing(assets), acting };
    await serve(call, port, changing, `It can change the cluster, with your rights.${said}`);
  } else await serve(call, port, page, `It changes nothing in the cluster.${said}`);
}

const planningOver = ({ access, host }: FleetOptions, fleet: Fleet): Planning =>
  new Planning({ access, host, targetOf: (workload) => fleet.target(workload) });

function actingOver(call: Call, access: ClusterAccess, fleet: Fleet, opened: OpenWorkloads): Acting {
  return new Acting({
    access,
    call,
    targetOf: (workload) => fleet.target(workload),
    hasPod: async (workload, pod) => {
      const shown = await opened.open(workload);
      shown?.close();
      return shown?.feed.state.has(`pod/${pod}`) === true;
    },
  });
}

/** Serves a page that only reads, on a free port, until `started` is disposed. Resolves to its address. */
export async function startReadOnlyPage(
  options: FleetOptions,
  started: AsyncDisposableStack,
): Promise<string> {
  const assets = await pageAssets();
  const { fleet, opened } = await watch(options, started);
  const open = opener(fleet, (key) => opened.open(key));
  return listen(0, { assets, open, planning: planningOver(options, fleet) }, started);
}

interface Watched {
  readonly fleet: Fleet;
  readonly opened: OpenWorkloads;
}

async function watch(options: FleetOptions, started: AsyncDisposableStack): Promise<Watched> {
  const fleet = new Fleet(options);
  started.defer(() => fleet.stop());
  const opened = new OpenWorkloads(options, fleet);
  started.defer(() => opened.stop());
  await fleet.start();
  return { fleet, opened };
}

type Open = (key: string) => ReturnType<OpenWorkloads["open"]>;

/** The list for a page that names no workload. */
const opener =
  (fleet: Fleet, open: Open): PageServerOptions["open"] =>
  async (key) =>
    key === undefined ? { feed: fleet.feed, close: () => undefined } : open(key);

type Page = Pick<PageServerOptions, "assets" | "open" | "acting" | "planning">;

/** Resolves when it was stopped. Throws CliError when the port cannot be had. */
async function serve(call: Call, port: number, page: Page, said: string): Promise<void> {
  await using started = new AsyncDisposableStack();
  const address = await listen(port, page, started);
  call.print(`The page is at ${call.paint("cyan", address)}`);
  call.print(`${said} Ctrl-C ends it.`);
  await untilAborted(call.io.signal);
}

/** Resolves to the address. Throws CliError when the port cannot be had. */
async function listen(port: number, page: Page, started: AsyncDisposableStack): Promise<string> {
  const token = randomBytes(24).toString("base64url");
  const server = await startPageServer({ ...page, token, port }).catch((cause: unknown) => {
    throw new CliError(`cannot listen on port ${port}: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    });
  });
  started.defer(() => server.stop());
  return `http://127.0.0.1:${server.port}/?token=${token}`;
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
