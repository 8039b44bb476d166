/** Options by which the commands of this folder find real nodes. */
import { UsageError } from "../errors.ts";
import type { OptionTable } from "../options.ts";
import type { LabSettings, NodeSocket } from "./lab.ts";

/** Options of every command that needs real nodes. */
export const nodeOptions = {
  kubeconfig: { type: "string", value: "FILE", help: "Cluster with real nodes that run the agent." },
  nodes: { type: "string", value: "NODE=SOCKET,…", help: "Those nodes, each with its runtime's socket." },
  images: {
    type: "string",
    default: "nginx:1.20,nginx:1.21",
    value: "A,B",
    help: "Images between which containers are swapped.",
  },
} as const satisfies OptionTable;

/** Undefined without a kubeconfig. Throws UsageError. */
export function labSettings(values: {
  readonly kubeconfig?: string | undefined;
  readonly nodes?: string | undefined;
  readonly images: string;
}): LabSettings | undefined {
  const { kubeconfig, nodes } = values;
  if ((kubeconfig === undefined) !== (nodes === undefined))
    throw new UsageError("real nodes need both --kubeconfig FILE and --nodes NODE=SOCKET,...");
  if (kubeconfig === undefined || nodes === undefined) return undefined;
  const [one, another, more] = values.images.split(",");
  if (!one || !another || more !== undefined) throw new UsageError("--images needs two images: A,B");
  const [first, ...others] = nodes.split(",").map((word): NodeSocket => {
    const [node, socket] = word.split("=");
    if (!node || !socket) throw new UsageError(`--nodes: \`${word}\` must be NODE=SOCKET`);
    return { node, socket };
  });
  if (!first) throw new UsageError("--nodes needs NODE=SOCKET");
  return { kubeconfig, nodes: [first, ...others], images: [one, another] };
}
