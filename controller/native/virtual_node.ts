/** Nodes without an agent: somebody else runs what runs there. */
import { NODE_TYPE_LABEL, VIRTUAL_NODE_TYPE } from "../../crds/index.ts";
import type { Labels } from "../../kube/core/index.ts";

export function isVirtualNode(node: { readonly labels: Labels }): boolean {
  return node.labels[NODE_TYPE_LABEL] === VIRTUAL_NODE_TYPE;
}
