/** ContainerRecreateRequests for the suites. */
import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { Handle } from "./handle.ts";
import { records } from "./items.ts";
import type { World } from "./world.ts";

/** The label of a request that is under way. */
export const activeLabel = "crr.apps.kruise.io/active";

/** A shell that ends at once when it is told to, with 0. */
export const politeCommand = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 1; done"];

export class RecreateRequest extends Handle {
  constructor(world: World, name: string) {
    super(world, "ContainerRecreateRequest", name);
  }

  /** For the container `app` of the pod of this name, unless the spec says otherwise. */
  create(spec: object = {}): Promise<Item> {
    return this.apply({ podName: this.name, containers: [{ name: "app" }], ...spec });
  }

  /** Returns it as it ended. */
  async untilCompleted(): Promise<Item> {
    const probe = async () => {
      const { metadata, status } = await this.get();
      assert.equal(status?.phase, "Completed", JSON.stringify(status));
      assert.equal(metadata.labels?.[activeLabel], undefined);
    };
    await this.world.once(`${this.name} is completed`, probe, 120_000);
    return this.get();
  }
}

/** `<container> <phase>` for each container. */
export function statesOf({ status }: Item): string[] {
  return records(status?.["containerRecreateStates"]).map((state) => `${state["name"]} ${state["phase"]}`);
}
