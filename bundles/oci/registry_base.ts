/** A base in a registry, read by the OCI distribution protocol: anonymously, with a token where one is asked for. */
import { familiarImage } from "../../kube/core/index.ts";
import { fullRepository } from "../../node/index.ts";
import { BundleError, messageOf } from "../errors.ts";
import { type Base, verified } from "./base.ts";
import { type Descriptor, digestOf, dockerMediaTypes, mediaTypes } from "./documents.ts";

/** `name`: as in a pod's `image`. Rejects with BundleError. */
export async function registryBase(name: string, signal: AbortSignal): Promise<Base> {
  const repository = new Repository(name, signal);
  return { name, root: await repository.root(), read: (descriptor) => repository.blob(descriptor) };
}

const documentTypes = [
  mediaTypes.index,
  dockerMediaTypes.index,
  mediaTypes.manifest,
  dockerMediaTypes.manifest,
];

class Repository {
  readonly #name: string;
  readonly #reference: string;
  readonly #host: string;
  /** `https://HOST/v2/PATH`. */
  readonly #url: string;
  readonly #signal: AbortSignal;
  #authorization: string | undefined;

  constructor(name: string, signal: AbortSignal) {
    const { repository, reference } = placeOf(name);
    const slash = repository.indexOf("/");
    const registry = repository.slice(0, slash);
    this.#name = name;
    this.#reference = reference;
    this.#host = registry === "docker.io" ? "registry-1.docker.io" : registry;
    this.#url = `${schemeOf(this.#host)}://${this.#host}/v2/${repository.slice(slash + 1)}`;
    this.#signal = signal;
  }

  async root(): Promise<Descriptor> {
    const { bytes, mediaType } = await this.#get(`manifests/${this.#reference}`, documentTypes);
    const found = { mediaType, digest: digestOf(bytes), size: bytes.length };
    if (this.#reference.includes(":")) verified(this.#name, { ...found, digest: this.#reference }, bytes);
    return found;
  }

  async blob(descriptor: Descriptor): Promise<Uint8Array> {
    const isDocument = documentTypes.some((type) => type === descriptor.mediaType);
    const path = `${isDocument ? "manifests" : "blobs"}/${descriptor.digest}`;
    const { bytes } = await this.#get(path, isDocument ? [descriptor.mediaType] : []);
    return verified(this.#name, descriptor, bytes);
  }

  async #get(path: string, accept: readonly string[]): Promise<{ bytes: Uint8Array; mediaType: string }> {
    let response = await this.#fetch(`${this.#url}/${path}`, accept);
    if (response.status === 401 && this.#authorization === undefined) {
      this.#authorization = await this.#token(response.headers.get("www-authenticate") ?? "");
      response = await this.#fetch(`${this.#url}/${path}`, accept);
    }
    if (response.ok) {
      const bytes = await response
        .bytes()
        .catch((cause: unknown) => Promise.reject(this.#unreachable(cause)));
      return { bytes, mediaType: response.headers.get("content-type") ?? "" };
    }
    await response.body?.cancel();
    throw this.#refused(response.status);
  }

  async #token(challenge: string): Promise<string> {
    const asked = new Map(
      [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = "", value = ""]) => [key, value]),
    );
    const realm = asked.get("realm");
    if (!challenge.toLowerCase().startsWith("bearer ") || realm === undefined || !URL.canParse(realm))
      throw this.#refused(401);
    const url = new URL(realm);
    for (const key of ["service", "scope"]) {
      const value = asked.get(key);
      if (value !== undefined) url.searchParams.set(key, value);
    }
    const response = await this.#fetch(url.href, []);
    const answer: unknown = await response.json().catch(() => undefined);
    const token = response.ok ? tokenIn(answer) : undefined;
    if (token === undefined) throw this.#refused(response.status);
    return `Bearer ${token}`;
  }

  async #fetch(url: string, accept: readonly string[]): Promise<Response> {
    const headers = new Headers();
    if (accept.length > 0) headers.set("accept", accept.join(", "));
    if (this.#authorization !== undefined) headers.set("authorization", this.#authorization);
    try {
      return await fetch(url, { headers, signal: this.#signal });
    } catch (cause) {
      throw this.#unreachable(cause);
    }
  }

  #unreachable(cause: unknown): BundleError {
    const inner = cause instanceof Error && cause.cause !== undefined ? cause.cause : cause;
    return new BundleError(
      `base ${this.#name}: ${this.#host} cannot be read (${messageOf(inner)}); name another registry, or a layout as oci:FOLDER:NAME`,
      { cause },
    );
  }

  #refused(status: number): BundleError {
    if (status === 404) return new BundleError(`base ${this.#name}: ${this.#host} has no such image`);
    if (status === 401 || status === 403) {
      return new BundleError(
        `base ${this.#name}: ${this.#host} has no such image, or wants a login; with one, copy it to a layout ("skopeo copy") and name that as oci:FOLDER:NAME`,
      );
    }
    return new BundleError(`base ${this.#name}: ${this.#host} answered ${status}; try again later`);
  }
}

/** Repository in full, with its registry, and tag or digest. */
function placeOf(name: string): { repository: string; reference: string } {
  try {
    const { name: short, tag } = familiarImage(name);
    return { repository: fullRepository(short), reference: tag };
  } catch (cause) {
    throw new BundleError(
      `base ${name}: ${messageOf(cause)}; name an image as a pod does, or oci:FOLDER:NAME`,
      {
        exitCode: 2,
        cause,
      },
    );
  }
}

/** Registries on loopback are for trials and speak plain HTTP, as container runtimes assume. */
function schemeOf(host: string): string {
  return /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/.test(host) ? "http" : "https";
}

function tokenIn(answer: unknown): string | undefined {
  if (typeof answer !== "object" || answer === null) return undefined;
  const found = "token" in answer ? answer.token : "access_token" in answer ? answer.access_token : undefined;
  return typeof found === "string" ? found : undefined;
}
