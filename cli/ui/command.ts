import { type FlagTable, switchFlag, textFlag } from "../arguments.ts";
import type { Command } from "../command.ts";

const uiFlags: FlagTable = {
  port: textFlag("N", "Port of the page on 127.0.0.1; 0 picks a free one.", { default: "0" }),
  record: textFlag("FILE.html", "Write what the page shows into a new file, which any browser plays."),
  "allow-changes": switchFlag(
    "Let the page pause, resume, promote, hold back, undo and scale workloads, and restart containers.",
  ),
};

export const ui: Command = {
  name: "ui",
  summary: "Serve a page that shows every workload, its pods as they change, and why it waits.",
  usage: "[FILE.html] [--port N] [-n NAMESPACE] [--record FILE.html] [--allow-changes]",
  arguments: { most: 1 },
  details: `The page shows what your kubeconfig may read, of all namespaces unless one is named. It changes nothing unless
--allow-changes is given: then it has buttons, shows the command that is the same before it acts, and asks.
Only this machine reaches it, and only with the address that is printed, which holds a new token each time.
With a file that --record wrote, the page shows that instead of a cluster.`,
  examples: [
    "refit ui",
    "refit ui -n shop --port 8900",
    "refit ui --record rollout.html",
    "refit ui rollout.html",
    "refit ui --allow-changes",
  ],
  flags: uiFlags,
  run: async (call) => (await import("./run.ts")).runUi(call),
};
