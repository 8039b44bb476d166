/** The container runtime of a simulated node, for an agent beside the sandbox's own. */
import type { RuntimeContainer } from "../../node/index.ts";
import type { HollowNodes } from "./hollow_nodes.ts";
import { inRuntime } from "./node_agent.ts";
import type { SimulatedNode } from "./simulated_node.ts";

export class NodeRuntime {
  readonly #hollow: HollowNodes;
  readonly #node: SimulatedNode;

  constructor(hollow: HollowNodes, node: SimulatedNode) {
    this.#hollow = hollow;
    this.#node = node;
  }

  /** UIDs of the pods that are on the node. */
  get pods(): ReadonlySet<string> {
    return this.#node.pods;
  }

  /** Those of a pod that have been made, but for its init containers and ephemeral ones. */
  containers(podUid: string): RuntimeContainer[] {
    const runs = this.#hollow.runOf(podUid)?.containers ?? [];
    return runs
      .filter(({ kind }) => kind === "main")
      .map(inRuntime)
      .filter((container) => container !== undefined);
  }

  /** Asks for the stop of a container that runs; the kubelet starts it again. */
  stop(podUid: string, { name, id }: Pick<RuntimeContainer, "name" | "id">, graceSeconds: number): void {
    this.#hollow.withContainer(podUid, name, (run) => {
      if (run.state !== "running" || inRuntime(run)?.id !== id) return;
      run.stopAsked ??= { by: "", message: `Stopping container ${name}`, graceSeconds };
    });
  }

  hasImage(reference: string): boolean {
    return this.#node.images.has(reference);
  }

  /** As a runtime names its content. */
  imageId(reference: string): string {
    return this.#hollow.registry.imageId(reference).replace(/^.*@/, "");
  }

  /** False: it cannot be pulled now. */
  pull(reference: string): boolean {
    if (this.#hollow.registry.fails(reference)) return false;
    this.#node.images.add(reference);
    return true;
  }
}
