import { type FlagTable, textFlag } from "../arguments.ts";
import { type Command, noArguments } from "../command.ts";

const uiFlags: FlagTable = {
  port: textFlag("N", "Port of the page on 127.0.0.1; 0 picks a free one.", { default: "0" }),
};

export const ui: Command = {
  name: "ui",
  summary: "Serve a page that shows every workload, its pods as they change, and why it waits.",
  usage: "[--port N] [-n NAMESPACE]",
  arguments: noArguments,
  details: `The page shows what your kubeconfig may read, of all namespaces unless one is named, and changes nothing.
Only this machine reaches it, and only with the address that is printed, which holds a new token each time.`,
  examples: ["refit ui", "refit ui -n shop --port 8900"],
  flags: uiFlags,
  run: async (call) => (await import("./run.ts")).runUi(call),
};
