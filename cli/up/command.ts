import { type FlagTable, switchFlag, textFlag } from "../arguments.ts";
import { type Command, noArguments } from "../command.ts";

const upFlags: FlagTable = {
  pods: textFlag("N", "Pods of the CloneSet.", { default: "20" }),
  nodes: textFlag("N", "Simulated nodes, each for 110 pods. Default 5, or as many as the pods need."),
  port: textFlag("N", "Port of the API server; 0 picks a free one.", { default: "0" }),
  seed: textFlag("N", "Seed of everything random in the cluster; else a new one, which is printed."),
  "kubeconfig-out": textFlag(
    "FILE",
    "Where the kubeconfig is written while the cluster runs. Default .refit/kubeconfig, with a number behind it where another sandbox has that.",
  ),
  timing: textFlag("real|fast", "Nodes as slow as real ones, or each step in milliseconds.", {
    default: "real",
  }),
  "feature-gates": textFlag(
    "NAME=BOOL,...",
    'Feature gates of the controller, as "refit controller --help" lists them; ImagePullJobGate and ResourceDistributionGate are on.',
  ),
  "kubernetes-version": textFlag(
    "1.N",
    "Version that the API server and the nodes say they have; they act as 1.34 does.",
  ),
  once: switchFlag("End after the rollout instead of staying up."),
  "outlive-parent": switchFlag(
    "Go on when the process that started this one has ended; otherwise it ends, too.",
  ),
};

export const up: Command = {
  name: "up",
  summary: "Start a cluster in this process and watch a rollout in place; then it is yours.",
  usage:
    "[--pods N] [--nodes N] [--port N] [--seed N] [--feature-gates NAME=BOOL] [--once] [--outlive-parent]",
  arguments: noArguments,
  details: `A real Kubernetes API over HTTPS on loopback, with a scheduler and simulated nodes, all in memory: kubectl
works on it. Containers do not run. Ctrl-C stops everything, and so does the end of the shell or script that started it.

Annotations break things, on pods or in a template (for one container: CONTAINER.sandbox.refit.dev/NAME), durations as 10s or 2m:
  sandbox.refit.dev/pull=ok|fail|fail@DURATION|DURATION  the image can or cannot be pulled, or takes long
  sandbox.refit.dev/exit=CODE|CODE@DURATION            the process ends, again after each start
  sandbox.refit.dev/ready=never|DURATION               it does not become ready, or late
  sandbox.refit.dev/log=TEXT                           what kubectl logs prints
  sandbox.refit.dev/dead=true                          on a node: it falls silent, until the annotation goes
  sandbox.refit.dev/load=CPU                           on a HorizontalPodAutoscaler: it scales by this load
All of them, with examples: docs/sandbox.md.`,
  examples: [
    "refit up",
    "refit up --pods 200 --nodes 50 --once",
    "kubectl --kubeconfig .refit/kubeconfig annotate pods -l app=demo sandbox.refit.dev/exit=1@5s",
  ],
  flags: upFlags,
  async run(call) {
    // Before the controller and the sandbox are loaded: that takes a moment.
    call.print("Starting a cluster in this process.");
    return (await import("./run.ts")).runUp(call);
  },
};
