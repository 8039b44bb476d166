import type { FlagTable } from "./arguments.ts";

/** Flags that every command understands, under kubectl's names. */
export const globalFlags: FlagTable = {
  kubeconfig: {
    kind: "text",
    value: "FILE",
    help: "Path of the kubeconfig; else $KUBECONFIG, ~/.kube/config or in-cluster.",
  },
  context: { kind: "text", value: "NAME", help: "Context of the kubeconfig to use." },
  namespace: { kind: "text", short: "n", value: "NAME", help: "Namespace; else that of the context." },
  "request-timeout": {
    kind: "text",
    value: "TIME",
    help: "Longest wait for one answer of the server, such as 5s; 0 means no limit.",
  },
  help: { kind: "switch", short: "h", help: "Print help." },
};

export const outputFlag: FlagTable = {
  output: { kind: "text", short: "o", value: "json|yaml|name", help: "Print the object in this form." },
};

export const dryRunFlag: FlagTable = {
  "dry-run": {
    kind: "text",
    bare: "client",
    default: "none",
    value: "none|client|server",
    help: "client: only print what would be sent; server: let the server check it without storing it.",
  },
};
