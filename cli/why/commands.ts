import { type FlagTable, switchFlag, textFlag } from "../arguments.ts";
import type { Command } from "../command.ts";
import { answerFlag } from "../object_output.ts";

const planFlags: FlagTable = {
  "feature-gates": textFlag("NAME=BOOL,...", "Gates that the controller runs with.", { default: "" }),
};

export const why: Command = {
  name: "why",
  summary: "Say why a rollout does not go on, and what would end each reason.",
  usage: "[TYPE/NAME | NAME | TYPE]",
  details: `Runs the controller's own plan on what the cluster holds now; nothing is changed.
Without a name: a line for each object that does not get on, of a type or of all, with its first reason and the next command.
For kinds without a rollout it answers their own question: which nodes lack an image, which containers are not
recreated yet, what probes said, which pods a budget protects and how many may go.`,
  examples: [
    "refit why clone/sample",
    "refit why pub/web",
    "refit why -A",
    "refit why clone -n shop -l app=web",
  ],
  flags: {
    "all-namespaces": switchFlag("Objects of all namespaces, where none is named.", { short: "A" }),
    selector: textFlag("LABELS", "Only objects with these labels, where none is named.", { short: "l" }),
    ...answerFlag,
    ...planFlags,
  },
  appendix: async () => (await import("./answer.ts")).exitCodesHelp,
  run: async (call) => (await import("./run.ts")).runWhy(call),
};

export const plan: Command = {
  name: "plan",
  summary: "Say what the controller would do now, or after a manifest is applied; changes nothing.",
  usage: "TYPE/NAME | -f FILE",
  details: `With -f the manifest's spec is planned on the pods that the cluster has; workloads, jobs that run by the clock,
distributions and spreads can be planned so. Of a stored object of any other kind of this API one pass of its controller is shown. With -o an object is printed, or with -f a list of them.
Exit codes:
  0  the plan was made, whatever it says
  1  it could not be made: the command line, the manifest or the cluster was not as it should be`,
  examples: ["refit plan clone/sample", "refit plan -f cloneset.yaml", "refit plan imagelistpulljob/warm"],
  flags: {
    filename: textFlag("FILE", "Manifest of the workload; - reads standard input.", { short: "f" }),
    ...answerFlag,
    ...planFlags,
  },
  run: async (call) => (await import("./run.ts")).runPlan(call),
};
