/** A client whose requests stay open until somebody answers them: their arrival and their answer are moves of a small world. */
import { objectAt, textAt } from "../../controller/native/json_fields.ts";
import { isJsonObject, type JsonObject, type ObjectRef } from "../../kube/core/index.ts";
import { type Client, KubeError, type KubeErrorCode, type Resource } from "../../kube/index.ts";
import { fakeServer } from "../kube/fake_server.ts";

export interface Request {
  /** In the order in which they are made. */
  readonly id: number;
  readonly verb: "get" | "create" | "patch" | "delete";
  readonly plural: string;
  readonly namespace: string;
  readonly name: string;
  readonly subresource?: string;
  readonly body: JsonObject;
  /** What the object has to be; empty: anything. */
  readonly uid: string;
  readonly resourceVersion: string;
}

/** `namespace`: the error is about it. */
export type Reply =
  | { readonly object?: JsonObject }
  | { readonly error: KubeErrorCode; readonly namespace?: string };

export class PendingRequests {
  readonly client: Client;
  readonly #open = new Map<number, { request: Request; answer: (reply: Reply) => void }>();
  #made = 0;

  constructor() {
    this.client = {
      ...nowhere,
      get: async (resource, ref) => decoded(resource, await this.#ask("get", resource, ref)),
      create: async (resource, namespace, body) => {
        const whole = jsonOf(body);
        const name = textAt(objectAt(whole, "metadata"), "name");
        const ref = { name, ...(namespace === undefined ? {} : { namespace }) };
        return decoded(resource, await this.#ask("create", resource, ref, { body: whole }));
      },
      patch: async (resource, ref, patch, { subresource, bodyWhenSent } = {}) => {
        const body = jsonOf(bodyWhenSent?.() ?? patch.body);
        const metadata = objectAt(body, "metadata");
        const reply = await this.#ask("patch", resource, ref, {
          body,
          uid: textAt(metadata, "uid"),
          resourceVersion: textAt(metadata, "resourceVersion"),
          ...(subresource === undefined ? {} : { subresource }),
        });
        return decoded(resource, reply);
      },
      delete: async (resource, ref, { uid = "", resourceVersion = "" } = {}) => {
        const reply = await this.#ask("delete", resource, ref, { uid, resourceVersion });
        return reply === undefined ? undefined : decoded(resource, reply);
      },
    };
  }

  get open(): readonly Request[] {
    return Array.from(this.#open.values(), ({ request }) => request);
  }

  answer(id: number, reply: Reply): void {
    this.#open.get(id)?.answer(reply);
    this.#open.delete(id);
  }

  #ask(
    verb: Request["verb"],
    { plural }: Resource<unknown>,
    { namespace = "", name }: ObjectRef,
    more: Partial<Request> = {},
  ): Promise<JsonObject | undefined> {
    const id = this.#made++;
    const nothing = { body: {}, uid: "", resourceVersion: "" };
    const request: Request = { id, verb, plural, namespace, name, ...nothing, ...more };
    return new Promise((resolve, reject) => {
      const answer = (reply: Reply): void => {
        if ("error" in reply) reject(errorOf(reply));
        else resolve(reply.object);
      };
      this.#open.set(id, { request, answer });
    });
  }
}

const nowhere = fakeServer().client;

function errorOf({ error, namespace }: Extract<Reply, { error: unknown }>): KubeError {
  const about = namespace === undefined ? {} : { about: { kind: "namespaces", name: namespace } };
  return new KubeError(error, error, { ambiguous: error === "Unavailable", ...about });
}

function decoded<T>({ codec }: Resource<T>, object: JsonObject | undefined): T {
  return codec.decode(Buffer.from(JSON.stringify(object)), "application/json");
}

function jsonOf(body: object | string): JsonObject {
  const parsed: unknown = JSON.parse(typeof body === "string" ? body : JSON.stringify(body));
  return isJsonObject(parsed) ? parsed : {};
}
