import { type FlagTable, switchFlag, textFlag } from "./arguments.ts";

/** Flags that every command understands, under kubectl's names. */
export const globalFlags: FlagTable = {
  kubeconfig: textFlag("FILE", "Path of the kubeconfig; else $KUBECONFIG, ~/.kube/config or in-cluster."),
  context: textFlag("NAME", "Context of the kubeconfig to use."),
  namespace: textFlag("NAME", "Namespace; else that of the context.", { short: "n" }),
  "request-timeout": textFlag(
    "TIME",
    "Longest wait for one answer of the server, such as 5s; 0 means no limit.",
  ),
  as: textFlag("NAME", "User to be taken for by the server (impersonation)."),
  "as-group": textFlag("NAME", "Group to be taken for, beside --as; may be repeated.", { repeated: true }),
  "insecure-skip-tls-verify": switchFlag("Do not check the server's certificate: for trials only."),
  verbose: textFlag("N", "1 or more: print each request to the server on standard error.", {
    short: "v",
    default: "0",
  }),
  help: switchFlag("Print help.", { short: "h" }),
};

/** They give way where a command has a letter of its own: `-v` of the controller is how much it logs. */
export function globalFlagsBeside(own: FlagTable): FlagTable {
  const taken = new Set(Object.values(own).map(({ short }) => short));
  return Object.fromEntries(
    Object.entries(globalFlags).map(([name, { short, ...flag }]) => [
      name,
      short === undefined || taken.has(short) ? flag : { ...flag, short },
    ]),
  );
}

export const outputFlag: FlagTable = {
  output: textFlag("json|yaml|name", "Print the object in this form.", { short: "o" }),
};

export const dryRunFlag: FlagTable = {
  "dry-run": textFlag(
    "none|client|server",
    "client: only print what would be sent; server: let the server check it without storing it.",
    { bare: "client", default: "none" },
  ),
};
