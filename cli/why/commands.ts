import { type FlagTable, textFlag } from "../arguments.ts";
import type { Command } from "../command.ts";

const planFlags: FlagTable = {
  "feature-gates": textFlag("NAME=BOOL,...", "Gates that the controller runs with.", { default: "" }),
};

export const why: Command = {
  name: "why",
  summary: "Say why a rollout does not go on, and what would end each reason.",
  usage: "TYPE/NAME",
  details: `Runs the controller's own plan on what the cluster holds now; nothing is changed.
For kinds without a rollout it answers their own question: which nodes lack an image, which containers are not
recreated yet, what probes said, which pods a budget protects and how many may go.`,
  examples: ["refit why clone/sample", "refit why imagepulljob/warm", "refit why pub/web"],
  flags: planFlags,
  run: async (call) => (await import("./run.ts")).runWhy(call),
};

export const plan: Command = {
  name: "plan",
  summary: "Say what the controller would do now, or after a manifest is applied; changes nothing.",
  usage: "TYPE/NAME | -f FILE",
  details: `With -f the manifest's spec is planned on the pods that the cluster has; workloads, jobs that run by the clock,
distributions and spreads can be planned so. Of a stored object of any other kind of this API one pass of its controller is shown.`,
  examples: ["refit plan clone/sample", "refit plan -f cloneset.yaml", "refit plan imagelistpulljob/warm"],
  flags: {
    filename: textFlag("FILE", "Manifest of the workload; - reads standard input.", { short: "f" }),
    ...planFlags,
  },
  run: async (call) => (await import("./run.ts")).runPlan(call),
};
