import { type Command, noArguments } from "../command.ts";

export const agent: Command = {
  name: "agent",
  summary: "Run the agent of one node: restarts, image pulls, probes and swaps of its containers.",
  usage: "[flags]",
  arguments: noArguments,
  details: `The agent of the image, with its flags: for nodes where no image of it runs. It needs the socket of the container runtime,
root's as a rule, and NODE_NAME. Its own image takes less memory: V8's flags there are for an agent alone.
SIGTERM or Ctrl-C ends it.`,
  examples: [
    "NODE_NAME=$(hostname) refit agent --kubeconfig kubeconfig --socket-file /run/containerd/containerd.sock",
  ],
  flags: async () => (await import("./agent_flags.ts")).agentFlagTable,
  appendix: async () => (await import("../../agent/index.ts")).agentNotes(),
  raw: "own",
  run: async (call) => (await import("../../agent/index.ts")).runAgentProcess(call.words, "refit agent"),
};
