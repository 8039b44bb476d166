import { type FlagTable, switchFlag, textFlag } from "../arguments.ts";
import { type Command, noArguments } from "../command.ts";
import { installFlags } from "../install/commands.ts";

const namespaceFlag: FlagTable = {
  "controller-namespace": textFlag("NAME", "Namespace of the manager and its agents.", {
    default: "kruise-system",
  }),
};

export const migrateCheck: Command = {
  name: "migrate check",
  summary: "Say what stands in the way of taking a cluster over from OpenKruise.",
  usage: "[-o json]",
  arguments: noArguments,
  details: `Changes nothing. Reads the kinds in use, the manager and its flags, definitions and webhooks, makes the controller's
plans of all workloads with the manager's gates, and names each pod that these would delete or update.
Exit code 0: nothing is in the way; 1: something is.`,
  examples: ["refit migrate check", "refit migrate check -o json"],
  flags: {
    output: textFlag("json", "Form of the output.", { short: "o" }),
    ...namespaceFlag,
  },
  run: async (call) => (await import("./check.ts")).runMigrateCheck(call),
};

export const migrateCluster: Command = {
  name: "migrate cluster",
  summary: "Take the cluster over from OpenKruise, or go --back.",
  usage: "--controller-image IMAGE [--agent-image IMAGE] | --webhook-host HOST --webhook-port N | --back",
  arguments: noArguments,
  details: `Looks for what "refit migrate check" finds, and changes nothing while something is in the way (exit code 1). Writes down
what is there, stops the manager, waits until it is gone and its Lease has ended, installs, and waits until the new
controller leads and answers webhooks. Pods of workloads are not touched. Gates and replicas are those of the manager unless
flags say otherwise. --back puts back what was written down. If the command is killed, the same command continues where it stopped.`,
  examples: [
    "refit migrate cluster --controller-image registry.local/refit:1 --agent-image registry.local/refit-agent:1",
    "refit migrate cluster --back",
  ],
  flags: {
    back: switchFlag("Put back the manager and the agents that were there."),
    force: switchFlag(
      "Take over although something is in the way, for example a rollout that is to continue here.",
    ),
    wait: textFlag("DURATION", "Longest wait for the end of one manager and the start of the other.", {
      default: "3m",
    }),
    ...installFlags,
  },
  run: async (call) => (await import("./cluster.ts")).runMigrateCluster(call),
};
