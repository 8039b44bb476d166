import { type FlagTable, switchFlag, textFlag } from "../arguments.ts";
import { type Command, noArguments } from "../command.ts";

const namespaceFlag: FlagTable = {
  "controller-namespace": textFlag("NAME", "Namespace of the controller and the agents.", {
    default: "kruise-system",
  }),
};

export const installFlags: FlagTable = {
  "webhook-host": textFlag(
    "HOST",
    "The controller runs outside the cluster and answers webhooks at this host.",
  ),
  "webhook-port": textFlag("N", "Port at which the controller answers webhooks.", { default: "9876" }),
  ...namespaceFlag,
  "guard-definitions": switchFlag(
    "Let the controller list all objects, which gate DeletionProtectionForCRDCascadingGate needs.",
  ),
  "distribute-resources": switchFlag(
    "Let the controller write all Secrets and ConfigMaps, which gate ResourceDistributionGate needs.",
  ),
  "controller-image": textFlag(
    "IMAGE",
    "Run the controller from this image in the cluster; without it only its access is installed.",
  ),
  "controller-replicas": textFlag("N", "Replicas of the controller: one reconciles, all answer webhooks.", {
    default: "2",
  }),
  "controller-flag": textFlag(
    "FLAG",
    "A flag for the controller, for example --controller-flag=--v=5. Repeatable.",
    { repeated: true },
  ),
  "api-server-port": textFlag(
    "N",
    "Port at which the API server listens, for the controller's NetworkPolicy; default 443, 6443, 8443, 16443. Repeatable.",
    { repeated: true },
  ),
  "agent-image": textFlag(
    "IMAGE",
    "Run the node agent from this image on every node; without it only its access is installed.",
  ),
  "agent-runtime": textFlag(
    "node|deno",
    "What the agent's image runs it on; with deno every permission is spelled out.",
    { default: "node" },
  ),
  "agent-socket-folder": textFlag(
    "FOLDER",
    "Folder of the nodes below which the container runtime's socket is (K3s: /run/k3s).",
    { default: "/var/run" },
  ),
  "agent-flag": textFlag(
    "FLAG",
    "A flag for the agent, for example --agent-flag=--direct-swap=true. Repeatable.",
    { repeated: true },
  ),
};

const uninstallFlags: FlagTable = {
  ...namespaceFlag,
  check: switchFlag(
    "Only say whether anything is left that must not be lost: exit code 1 if so. Nothing is removed.",
  ),
};

export const install: Command = {
  name: "install",
  summary: "Install definitions, access and webhooks for the controller.",
  usage: "[--controller-image IMAGE | --webhook-host HOST --webhook-port N] [--agent-image IMAGE]",
  arguments: noArguments,
  details: `Applies what "refit manifests" prints and waits until the definitions are served. With
--controller-image the controller runs as a Deployment; otherwise you start it ("refit controller").`,
  examples: [
    "refit install",
    "refit install --controller-image registry.local/refit:1 --agent-image registry.local/refit-agent:1",
    "refit install --webhook-host 127.0.0.1 --webhook-port 9876",
  ],
  flags: installFlags,
  run: async (call) => (await import("./run.ts")).runInstall(call),
};

export const manifests: Command = {
  name: "manifests",
  summary: "Print what install applies, as YAML.",
  usage: "[--roles | --controller-image IMAGE | --webhook-host HOST --webhook-port N] [--agent-image IMAGE]",
  arguments: noArguments,
  details: `With --roles two ClusterRoles for people are printed instead, which install does not apply: kruise-viewer-role reads
what this program reads, kruise-operator-role may steer rollouts and start jobs, too. Bind them to your users.`,
  examples: ["refit manifests --roles | kubectl apply -f -"],
  flags: {
    ...installFlags,
    roles: switchFlag("Print only the ClusterRoles for people who use this program: viewer and operator."),
  },
  run: async (call) => (await import("./run.ts")).runManifests(call),
};

export const uninstall: Command = {
  name: "uninstall",
  summary: "Remove definitions, access and webhooks; refuses while workloads exist.",
  usage: "",
  arguments: noArguments,
  details: `Removing a definition deletes all its objects and their pods: therefore none may be left. Objects that are deleted
with --cascade=orphan leave their pods, which nobody owns then.`,
  flags: uninstallFlags,
  run: async (call) => (await import("./run.ts")).runUninstall(call),
};
