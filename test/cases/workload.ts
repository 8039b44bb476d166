/** An object that makes pods: what suites do with one and ask of its pods, whatever its kind. */
import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { Handle } from "./handle.ts";
import { isGoing, nameOf, tagOf, uidOf } from "./items.ts";
import { imagePatch } from "./manifests.ts";
import { isPresent, type Trail } from "./trail.ts";
import type { WaitOptions } from "./world.ts";

export class Workload extends Handle {
  toImage(image: string): Promise<Item> {
    return this.patch("json", imagePatch(image));
  }

  /** Changes fields of its rolling update. */
  roll(rollingUpdate: object): Promise<Item> {
    return this.mergeSpec({ updateStrategy: { rollingUpdate } });
  }

  scale(replicas: number): Promise<Item> {
    return this.world.patch(this.resource, this.name, "merge", { spec: { replicas } }, "scale");
  }

  /** Owned pods, also terminating ones, by name. */
  pods(): Promise<Item[]> {
    return this.world.controlled(this.kind, this.name);
  }

  /** Those that are neither finished nor being deleted. */
  async livePods(): Promise<Item[]> {
    return (await this.pods()).filter(isPresent);
  }

  /** By name. */
  async uids(): Promise<Map<string, string>> {
    return new Map((await this.pods()).map((pod) => [nameOf(pod), uidOf(pod)]));
  }

  /** Image tags of the first containers, by name. */
  async tags(): Promise<Record<string, string | undefined>> {
    return Object.fromEntries((await this.pods()).map((pod) => [nameOf(pod), tagOf(pod)]));
  }

  /** Follows its pods, by the label that manifests give them unless they name others. */
  trail(labelSelector = `case=${this.name}`): Promise<Trail> {
    return this.world.trail("pods", labelSelector);
  }

  /** Waits until the row is this one, and every pod has the image. */
  untilAt(tag: string, row: string, options: WaitOptions = {}): Promise<void> {
    const probe = async () => {
      assert.deepEqual([...new Set((await this.pods()).map(tagOf))], [tag]);
      assert.equal(await this.row(), row);
    };
    return this.world.until(`${this.name} ${row} at ${tag}`, probe, { timeoutMs: 120_000, ...options });
  }

  override async assertGone(): Promise<void> {
    await super.assertGone();
    assert.deepEqual((await this.pods()).map(nameOf), []);
  }

  protected async assertNoneGoing(): Promise<void> {
    assert.deepEqual((await this.pods()).filter(isGoing).map(nameOf), [], "pods are on their way");
  }
}
