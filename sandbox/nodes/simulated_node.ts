/** One simulated node: its store of images, its addresses, its pods. */
import type { Reckoner } from "../amounts.ts";
import { isFinished, type PodObject } from "../objects/index.ts";
import type { Timing } from "../stages/profile.ts";
import { AddressBlock } from "./addresses.ts";
import type { NodeProfile } from "./node_object.ts";

export class SimulatedNode {
  readonly name: string;
  readonly profile: NodeProfile;
  timing: Timing;
  readonly addresses: AddressBlock;
  readonly images: Set<string>;
  /** UIDs. */
  readonly pods = new Set<string>();
  allocatable: Readonly<Record<string, string>>;
  alive = true;

  constructor(
    name: string,
    index: number,
    profile: NodeProfile,
    timing: Timing,
    allocatable: Readonly<Record<string, string>>,
  ) {
    this.name = name;
    this.profile = profile;
    this.timing = timing;
    this.addresses = new AddressBlock(index);
    this.images = new Set(profile.images);
    this.allocatable = allocatable;
  }

  /** The kubelet's answer to a pod's new resources: undefined when they fit beside the other pods. */
  resizeRefusal(
    pod: PodObject,
    others: readonly PodObject[],
    reckoner: Reckoner,
  ): { reason: "Infeasible" | "Deferred"; message: string } | undefined {
    const wanted = reckoner.ofPod(pod);
    for (const resource of ["cpu", "memory"] as const) {
      const asked = wanted[resource] ?? 0;
      const has = reckoner.value(this.allocatable[resource] ?? "0");
      if (asked <= has) continue;
      const scale = resource === "cpu" ? 1_000 : 1;
      const message = `Node didn't have enough capacity: ${resource}, requested: ${asked * scale}, capacity: ${has * scale}`;
      return { reason: "Infeasible", message };
    }
    for (const resource of ["cpu", "memory"] as const) {
      let used = 0;
      for (const other of others) {
        if (other.metadata.uid !== pod.metadata.uid && !isFinished(other)) {
          used += reckoner.ofPod(other)[resource] ?? 0;
        }
      }
      const asked = wanted[resource] ?? 0;
      const has = reckoner.value(this.allocatable[resource] ?? "0");
      if (asked + used <= has) continue;
      const message = `Node didn't have enough resource: ${resource}`;
      return { reason: "Deferred", message };
    }
    return undefined;
  }
}
