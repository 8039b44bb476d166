import { textFlag } from "../arguments.ts";
import type { Command } from "../command.ts";

export const supportBundle: Command = {
  name: "support-bundle",
  summary: "Collect what a bug report needs into a folder, without secrets.",
  usage: "[--folder FOLDER] [-n NAMESPACE]",
  details: `Reads the installation, its logs and metrics, webhooks, nodes, and the objects of all kinds. With -n also pods,
revisions, claims and events of that namespace. Left out: Secrets, contents of ConfigMaps, values of environment variables,
annotations of others, flags and headers named like secrets. What cannot be read is named in missing.txt.`,
  examples: ["refit support-bundle", "refit support-bundle -n shop --folder report"],
  flags: {
    folder: textFlag("FOLDER", "A new folder; default refit-support-TIME here."),
    "controller-namespace": textFlag("NAME", "Namespace of the controller and the agents.", {
      default: "kruise-system",
    }),
    limit: textFlag("N", "Objects of each list.", { default: "500" }),
    "log-lines": textFlag("N", "Last lines of each log.", { default: "5000" }),
  },
  run: async (call) => (await import("./run.ts")).runSupportBundle(call),
};
