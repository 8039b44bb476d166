/** Reads of which each may fail: with fewer rights the answer has less in it, and says what could not be read. */
import type { ObjectRef } from "../../../kube/core/index.ts";
import { isKubeError, listPages } from "../../../kube/index.ts";
import type { ClusterAccess } from "../../command.ts";
import type { AnyObject } from "../../fields.ts";
import { objectResource, pluralName } from "../../resource_types.ts";

/** Beyond these pages nothing is read. */
const mostPages = 20;

export interface Scope {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string;
  readonly fieldSelector?: string | undefined;
}

export class Reader {
  readonly #access: ClusterAccess;
  readonly #unread = new Set<string>();

  constructor(access: ClusterAccess) {
    this.#access = access;
  }

  /** What could not be read, `events: … is forbidden`. */
  get unread(): string[] {
    return [...this.#unread];
  }

  /** Page by page; ends early at what cannot be read. */
  async *pages(group: string, kind: string, scope: Scope, most = mostPages): AsyncGenerator<AnyObject[]> {
    const type = await this.#access.types.findKind(group, kind);
    if (type === undefined) return;
    const name = pluralName(type);
    let left = most;
    let read = 0;
    try {
      for await (const page of listPages(this.#access.client, objectResource(type), scope)) {
        yield page.items;
        read += page.items.length;
        left -= 1;
        if (left > 0) continue;
        if (page.continue !== "") this.#unread.add(`more than ${read} ${name}`);
        return;
      }
    } catch (error) {
      this.#failed(name, error);
    }
  }

  /** Those of all pages that `keeps` holds for. */
  async collect(
    group: string,
    kind: string,
    scope: Scope,
    keeps: (object: AnyObject) => boolean = () => true,
  ): Promise<AnyObject[]> {
    const found: AnyObject[] = [];
    for await (const page of this.pages(group, kind, scope)) found.push(...page.filter(keeps));
    return found;
  }

  /** One page; undefined where it cannot be read, or the server has no such kind. */
  async list(group: string, kind: string, scope: Scope): Promise<AnyObject[] | undefined> {
    for await (const page of this.pages(group, kind, scope, 1)) return page;
    return undefined;
  }

  /** `missing` where there is none of that name; undefined where it cannot be read. */
  async get(group: string, kind: string, ref: ObjectRef): Promise<AnyObject | "missing" | undefined> {
    const type = await this.#access.types.findKind(group, kind);
    if (type === undefined || ref.name === "") return undefined;
    const found = this.#access.client.get(objectResource(type), ref).catch((error: unknown) => {
      if (isKubeError(error, "NotFound")) return "missing" as const;
      throw error;
    });
    return this.#tried(pluralName(type), found);
  }

  /** The end of what a container wrote before it ended last, or of what it writes now; undefined where there is none. */
  async log(pod: ObjectRef, container: string, previous: boolean): Promise<string | undefined> {
    const { namespace = "", name } = pod;
    const query = `container=${encodeURIComponent(container)}&tailLines=5&limitBytes=4096${previous ? "&previous=true" : ""}`;
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log?${query}`;
    try {
      const text = await this.#access.client.request("GET", path);
      return typeof text === "string" ? text : undefined;
    } catch (error) {
      // The node may have removed it by now, or does not answer: there is enough to say without.
      if (isKubeError(error)) return undefined;
      throw error;
    }
  }

  async #tried<T>(what: string, read: Promise<T>): Promise<T | undefined> {
    try {
      return await read;
    } catch (error) {
      this.#failed(what, error);
      return undefined;
    }
  }

  #failed(what: string, error: unknown): void {
    if (!isKubeError(error)) throw error;
    this.#unread.add(error.code === "Forbidden" ? `${what} (not allowed)` : `${what} (${error.code})`);
  }
}
