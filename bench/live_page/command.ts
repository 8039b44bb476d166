/** `npm run bench -- live-page`: what `refit ui` costs a browser, and what it sends. */
import { parseArgs } from "node:util";
import type { BenchIo, Command } from "../io.ts";
import type { OptionTable } from "../options.ts";
import { readArguments, within } from "../settings.ts";

const options = {
  pods: { type: "string", default: "10000", value: "N", help: "Of the workload that is shown." },
  nodes: { type: "string", default: "500", value: "N", help: "On which they are." },
  changes: { type: "string", default: "500", value: "N", help: "Pods that change in a second." },
  minutes: { type: "string", default: "10", value: "N", help: "For how long they change, 1 to 1440." },
} as const satisfies OptionTable;

export const livePage: Command = {
  usage: "",
  summary: "frames, bytes and memory of the page of refit ui, in a Chromium of this machine",
  options,
  run: runLivePage,
};

async function runLivePage(args: readonly string[], io: BenchIo): Promise<number> {
  const { values } = readArguments(() => parseArgs({ args: [...args], options }));
  const load = {
    pods: within(values.pods, "pods", 1, 100_000),
    nodes: within(values.nodes, "nodes", 1, 100_000),
    changes: within(values.changes, "changes", 1, 100_000),
    minutes: within(values.minutes, "minutes", 1, 1_440),
  };
  // No other command needs a browser's driver and what makes the page's script.
  const { measure } = await import("./measure.ts");
  return (await measure(load, io)) ? 0 : 1;
}
