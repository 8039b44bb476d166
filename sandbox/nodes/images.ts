/** Image stores of nodes: which images are there, which cannot be pulled, what their content is called. */
import { createHash } from "node:crypto";
import { fullRepository } from "../../node/index.ts";
import { imageParts, tagExists } from "./known_images.ts";

const rememberedIds = 10_000;

/** The name without tag and digest, written in full: `nginx:1.20` -> `docker.io/library/nginx`. */
function repositoryOf(image: string): string {
  return fullRepository(imageParts(image).name);
}

/** Faults of pulling, shared by all nodes. */
export class Registry {
  readonly #failing = new Set<string>();
  readonly #slow = new Map<string, number>();
  readonly #ids = new Map<string, string>();

  /** Until `mendPull`, pulling `image` fails on every node that does not have it. */
  failPull(image: string): void {
    this.#failing.add(image);
  }

  mendPull(image: string): void {
    this.#failing.delete(image);
    this.#slow.delete(image);
  }

  slowPull(image: string, milliseconds: number): void {
    this.#slow.set(image, milliseconds);
  }

  /** Registries under the reserved domain `.invalid` never answer; of known repositories only some tags are there. */
  fails(image: string): boolean {
    const host = repositoryOf(image).split("/")[0] ?? "";
    return this.#failing.has(image) || host.replace(/:\d+$/, "").endsWith(".invalid") || !tagExists(image);
  }

  pullMs(image: string): number | undefined {
    return this.#slow.get(image);
  }

  /** The imageID that runtimes report: repository and a digest of the image's name. */
  imageId(image: string): string {
    const known = this.#ids.get(image);
    if (known !== undefined) return known;
    if (this.#ids.size >= rememberedIds) this.#ids.clear();
    const id = `${repositoryOf(image)}@sha256:${createHash("sha256").update(image).digest("hex")}`;
    this.#ids.set(image, id);
    return id;
  }
}
