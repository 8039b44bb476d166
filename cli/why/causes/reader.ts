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

/** What a person must be allowed to do; without a namespace in the whole cluster. */
export interface AccessRule {
  readonly verb: string;
  /** `pods`, `controllerrevisions.apps`. */
  readonly resource: string;
  readonly namespace: string | undefined;
}

/** The right that a server's refusal names; undefined where it is in other words. */
export function missingRight(refusal: string): AccessRule | undefined {
  const words =
    /cannot (\w+) resource "([^"]+)" in API group "([^"]*)" (?:in the namespace "([^"]+)"|at the cluster scope)/;
  const [, verb, plural, group = "", namespace] = words.exec(refusal.slice(0, 2000)) ?? [];
  if (verb === undefined || plural === undefined) return undefined;
  return { verb, resource: pluralName({ group, plural }), namespace };
}

/** What could not be read. */
export interface Unread {
  readonly what: string;
  /** Why not: `not allowed`, or the code of the error. */
  readonly why: string;
  /** The right that is missing, where that is why. */
  readonly rule?: AccessRule;
}

export class Reader {
  readonly #access: ClusterAccess;
  readonly #unread = new Map<string, Unread>();

  constructor(access: ClusterAccess) {
    this.#access = access;
  }

  get unread(): Unread[] {
    return [...this.#unread.values()];
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
        if (page.continue !== "") this.#note({ what: `more than ${read} ${name}`, why: "too many" });
        return;
      }
    } catch (error) {
      this.#failed({ verb: "list", resource: name, namespace: scope.namespace }, error);
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
    try {
      return await found;
    } catch (error) {
      this.#failed({ verb: "get", resource: pluralName(type), namespace: ref.namespace }, error);
      return undefined;
    }
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

  #failed(rule: AccessRule, error: unknown): void {
    if (!isKubeError(error)) throw error;
    const what = rule.resource;
    this.#note(error.code === "Forbidden" ? { what, why: "not allowed", rule } : { what, why: error.code });
  }

  /** Once for each namespace. */
  #note(unread: Unread): void {
    this.#unread.set(JSON.stringify([unread.what, unread.why, unread.rule?.namespace]), unread);
  }
}
