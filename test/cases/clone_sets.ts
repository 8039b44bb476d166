/** CloneSets for the suites: what a suite asks of one. */
import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { assertAllNew, imageOf, nameOf } from "./items.ts";
import { type CloneSetShape, cloneSet, type Strategy, strategyPatch } from "./manifests.ts";
import { Workload } from "./workload.ts";
import type { WaitOptions, World } from "./world.ts";

export class CloneSet extends Workload {
  constructor(world: World, name: string) {
    super(world, "CloneSet", name);
  }

  create(shape: Omit<CloneSetShape, "name"> = {}): Promise<Item> {
    return this.world.apply(cloneSet(this.world.version, { ...shape, name: this.name }));
  }

  /** Creates it and waits until all its pods are available; returns them. */
  async start(shape: Omit<CloneSetShape, "name"> = {}, options: WaitOptions = {}): Promise<Item[]> {
    await this.create(shape);
    return this.untilAll(shape.replicas ?? 1, options);
  }

  /** Changes fields of its strategy. */
  strategy(fields: Omit<Strategy, "policy">, version = this.world.version): Promise<Item> {
    return this.merge(strategyPatch(version, fields), version);
  }

  /** Waits until `count` pods are owned and every number of the row is `count`; returns the pods. */
  async untilAll(count: number, options: WaitOptions = {}): Promise<Item[]> {
    await this.untilRow(all(count), options);
    return this.livePods();
  }

  async assertAll(count: number): Promise<void> {
    assert.equal(await this.row(), all(count));
  }

  /** Waits until every pod's first container has the image and the row is complete. */
  untilUpdated(count: number, image: string, options: WaitOptions = {}): Promise<void> {
    const probe = async () => {
      assert.deepEqual((await this.pods()).map(imageOf), Array(count).fill(image));
      await this.assertAll(count);
    };
    return this.world.until(`${this.name} at ${image}`, probe, { timeoutMs: 120_000, ...options });
  }

  /** Waits until none of these pods is left, as many others are there, and the row is complete. */
  untilReplaced(before: readonly Item[], options: WaitOptions = {}): Promise<void> {
    const probe = async () => {
      const pods = await this.pods();
      assert.equal(pods.length, before.length, pods.map(nameOf).join());
      assertAllNew(pods, before);
      await this.assertAll(before.length);
    };
    return this.world.until(`all pods of ${this.name} are replaced`, probe, options);
  }
}

function all(count: number): string {
  return Array(6).fill(count).join(" ");
}
