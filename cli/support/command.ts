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
    folder: { kind: "text", value: "FOLDER", help: "A new folder; default refit-support-TIME here." },
    "controller-namespace": {
      kind: "text",
      default: "kruise-system",
      value: "NAME",
      help: "Namespace of the controller and the agents.",
    },
    limit: { kind: "text", default: "500", value: "N", help: "Objects of each list." },
    "log-lines": { kind: "text", default: "5000", value: "N", help: "Last lines of each log." },
  },
  run: async (call) => (await import("./run.ts")).runSupportBundle(call),
};
