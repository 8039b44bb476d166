/**
 * Writes into NodeImage specs for jobs: one patch of a node in flight, wishes of several jobs that come meanwhile go
 * into the next one. Each patch carries the resourceVersion that it was made from; no policy lives here.
 */
import type { NodeImage, NodeImageSpec } from "../../../crds/index.ts";
import { createMergePatch } from "../../../kube/core/index.ts";
import {
  type Cache,
  isKubeError,
  type ReadingClient,
  type Resource,
  type Writer,
} from "../../../kube/index.ts";

/** Returns the very spec of the object when there is nothing to change. */
export type Edit = (nodeImage: NodeImage) => NodeImageSpec;

interface Wish {
  readonly edit: Edit;
  readonly settle: (error?: unknown) => void;
}

interface NodeImageWriterDeps {
  client: Pick<ReadingClient, "get">;
  writer: Writer;
  resource: Resource<NodeImage>;
  objects: Cache<NodeImage>;
  signal: AbortSignal;
}

const ATTEMPTS = 8;

export class NodeImageWriter {
  readonly #deps: NodeImageWriterDeps;
  /** By node: wishes that wait for the patch in flight. */
  readonly #waiting = new Map<string, Wish[]>();
  readonly #running = new Set<Promise<void>>();

  constructor(deps: NodeImageWriterDeps) {
    this.#deps = deps;
  }

  /** Resolves when the edit is stored, or its NodeImage is gone; rejects with what the server answered. */
  write(node: string, edit: Edit): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
      const waiting = this.#waiting.get(node);
      if (waiting !== undefined) {
        waiting.push({ edit, settle });
        return;
      }
      this.#waiting.set(node, [{ edit, settle }]);
      const running = this.#drain(node);
      const tracked = running.finally(() => this.#running.delete(tracked));
      this.#running.add(tracked);
    });
  }

  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled([...this.#running]);
  }

  async #drain(node: string): Promise<void> {
    // What is wished in this turn of the event loop goes into the first patch.
    await Promise.resolve();
    for (let wishes = this.#take(node); wishes.length > 0; wishes = this.#take(node)) {
      await this.#together(node, wishes);
    }
    this.#waiting.delete(node);
  }

  #take(node: string): Wish[] {
    return this.#waiting.get(node)?.splice(0) ?? [];
  }

  async #together(node: string, wishes: readonly Wish[]): Promise<void> {
    try {
      await this.#patch(node, wishes);
      for (const wish of wishes) wish.settle();
    } catch (error) {
      const [only] = wishes;
      if (wishes.length === 1) only?.settle(error);
      // One bad wish must not take the others with it.
      else for (const wish of wishes) await this.#together(node, [wish]);
    }
  }

  async #patch(node: string, wishes: readonly Wish[]): Promise<void> {
    const { writer, resource, objects, signal } = this.#deps;
    for (let attempt = 1; ; attempt++) {
      const nodeImage = objects.get(node);
      if (nodeImage === undefined) return;
      const spec = wishes.reduce((so, { edit }) => edit({ ...nodeImage, spec: so }), nodeImage.spec);
      if (spec === nodeImage.spec) return;
      const { resourceVersion = "" } = nodeImage.metadata;
      const body = { metadata: { resourceVersion }, spec: createMergePatch(nodeImage.spec ?? {}, spec) };
      try {
        const options = { signal, priority: "high", flow: "nodeimages" } as const;
        objects.writeBack(await writer.patch(resource, { name: node }, { type: "merge", body }, options));
        return;
      } catch (error) {
        if (isKubeError(error, "NotFound")) return this.#gone(nodeImage);
        if (!isKubeError(error, "Conflict") || attempt === ATTEMPTS) throw error;
        await this.#refresh(nodeImage);
      }
    }
  }

  /** Somebody else wrote: what the server has now. */
  async #refresh(nodeImage: NodeImage): Promise<void> {
    const { client, resource, objects, signal } = this.#deps;
    const { name = "" } = nodeImage.metadata;
    try {
      objects.writeBack(await client.get(resource, { name }, { signal, priority: "high" }));
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
      this.#gone(nodeImage);
    }
  }

  #gone({ metadata }: NodeImage): void {
    this.#deps.objects.remove(metadata.name ?? "", metadata.uid ?? "");
  }
}
