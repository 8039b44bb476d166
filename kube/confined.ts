/** Writes that stay in one namespace, whatever the objects that led to them say of themselves. */
import type { Writer } from "./client_types.ts";
import { KubeError } from "./errors.ts";

/**
 * Refuses writes of namespaced objects in other namespaces (KubeError `OutsideNamespace`, no request is sent). Objects
 * without a namespace may be written: they belong to none.
 */
export function confinedTo(namespace: string, client: Writer): Writer {
  return new ConfinedWriter(namespace, client);
}

interface Place {
  readonly plural: string;
  readonly namespaced: boolean;
}

class ConfinedWriter implements Writer {
  readonly #namespace: string;
  readonly #client: Writer;

  constructor(namespace: string, client: Writer) {
    this.#namespace = namespace;
    this.#client = client;
  }

  create: Writer["create"] = async (resource, namespace, body, options) => {
    this.#check("create", resource, namespace, nameOf(body));
    return this.#client.create(resource, namespace, body, options);
  };

  patch: Writer["patch"] = async (resource, ref, patch, options) => {
    this.#check("patch", resource, ref.namespace, ref.name);
    return this.#client.patch(resource, ref, patch, options);
  };

  delete: Writer["delete"] = async (resource, ref, options) => {
    this.#check("delete", resource, ref.namespace, ref.name);
    return this.#client.delete(resource, ref, options);
  };

  #check(verb: string, { plural, namespaced }: Place, namespace = "", name = ""): void {
    if (!namespaced || namespace === this.#namespace) return;
    throw new KubeError(
      "OutsideNamespace",
      `${verb} ${plural} ${namespace}/${name}: an owner in namespace ${this.#namespace} changes nothing in another one`,
    );
  }
}

function nameOf(body: object | string): string {
  if (typeof body === "string" || !("metadata" in body)) return "";
  const { metadata } = body;
  if (typeof metadata !== "object" || metadata === null || !("name" in metadata)) return "";
  return String(metadata.name);
}
