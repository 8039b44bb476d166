import type { FlagTable } from "../arguments.ts";
import type { Command } from "../command.ts";

const installFlags: FlagTable = {
  "webhook-host": {
    kind: "text",
    value: "HOST",
    help: "The controller runs outside the cluster and answers webhooks at this host.",
  },
  "webhook-port": {
    kind: "text",
    default: "9876",
    value: "N",
    help: "Port at which the controller answers webhooks.",
  },
  "controller-namespace": {
    kind: "text",
    default: "kruise-system",
    value: "NAME",
    help: "Namespace of the controller.",
  },
};

export const install: Command = {
  name: "install",
  summary: "Install definitions, access and webhooks for the controller.",
  usage: "[--webhook-host HOST --webhook-port N]",
  details: `Applies what "refit manifests" prints and waits until the definitions are served. The controller itself is
started by you ("refit controller") or by the Helm chart.`,
  examples: ["refit install", "refit install --webhook-host 127.0.0.1 --webhook-port 9876"],
  flags: installFlags,
  run: async (call) => (await import("./run.ts")).runInstall(call),
};

export const manifests: Command = {
  name: "manifests",
  summary: "Print what install applies, as YAML.",
  usage: "[--webhook-host HOST --webhook-port N]",
  flags: installFlags,
  run: async (call) => (await import("./run.ts")).runManifests(call),
};

export const uninstall: Command = {
  name: "uninstall",
  summary: "Remove definitions, access and webhooks; refuses while workloads exist.",
  usage: "",
  details: "Removing a definition deletes all its objects and their pods: therefore none may be left.",
  flags: installFlags,
  run: async (call) => (await import("./run.ts")).runUninstall(call),
};
