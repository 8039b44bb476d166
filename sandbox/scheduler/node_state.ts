/** What the scheduler keeps of a node: what is free on it, and what keeps pods away. */
import type { Taint } from "../../kube/core/index.ts";
import { type Amounts, add, type Reckoner, subtract } from "../amounts.ts";
import type { NodeObject } from "../objects/index.ts";

export class NodeState {
  readonly name: string;
  labels: Readonly<Record<string, string>> = {};
  taints: readonly Taint[] = [];
  unschedulable = false;
  allocatable: Amounts = {};
  /** Sum over the pods that are bound here and not finished. */
  readonly used: Amounts = {};
  /** Host ports in use, `protocol/port` -> how many pods. */
  readonly hostPorts = new Map<string, number>();
  pods = 0;

  constructor(name: string) {
    this.name = name;
  }

  take(node: NodeObject, reckoner: Reckoner): void {
    this.labels = node.metadata.labels ?? {};
    this.taints = node.spec.taints ?? [];
    this.unschedulable = node.spec.unschedulable ?? false;
    this.allocatable = reckoner.list(node.status?.allocatable ?? node.status?.capacity);
  }

  /** `sign` 1 when a pod comes, -1 when it leaves. */
  count(amounts: Amounts, ports: readonly string[], sign: 1 | -1): void {
    this.pods += sign;
    if (sign === 1) add(this.used, amounts);
    else subtract(this.used, amounts);
    for (const port of ports) {
      const left = (this.hostPorts.get(port) ?? 0) + sign;
      if (left > 0) this.hostPorts.set(port, left);
      else this.hostPorts.delete(port);
    }
  }
}
