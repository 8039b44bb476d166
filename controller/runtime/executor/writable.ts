/** Objects that the effects of one controller may write beside its own: how they are sent, and where the answers are held. */
import { keyOf, type ObjectKey, type ObjectRef } from "../../../kube/core/index.ts";
import {
  ignoreNotFound,
  isKubeError,
  type ReadingClient,
  type Resource,
  type WriteOptions,
  type Writer,
} from "../../../kube/index.ts";
import type { CreateEffect, DeleteEffect, EditEffect, PatchEffect, WriteEffect } from "../../plan/effects.ts";
import type { OwnerScope } from "../../plan/owners.ts";
import { groupVersionOf } from "../../plan/resources.ts";
import { type EditedObjects, Edits } from "./edits.ts";

/** Where objects are held. `key` is that of the plan. Answers go there before anything else. */
export interface ObjectHolder<T> {
  writeBack?(object: T, key: ObjectKey): void;
  removed?(key: ObjectKey, uid: string, planKey: ObjectKey): void;
  /** UID of the controller that the object has. Needed for creations that take only what the object of the plan controls. */
  controllerOf?(object: T): string | undefined;
  /** Whether the answer to a deletion says that the object is still there. Default: an answer with an object does. */
  remains?(object: T): boolean;
  /** Where writes may go. Default: the namespace of the object of the plan. */
  readonly scope?: OwnerScope;
  /** Fairness key of writes that are for several objects. Default: that of the plan. */
  readonly flow?: string;
  /** Needed for edits. */
  readonly edits?: EditedObjects<T>;
}

export interface WriteContext {
  /** Of the object of the plan. */
  readonly key: ObjectKey;
  readonly uid: string;
  readonly writer: Writer;
  readonly client: Pick<ReadingClient, "get">;
  readonly options: WriteOptions;
}

export interface Writable {
  /** Of the objects. */
  readonly kind: string;
  readonly scope: OwnerScope | undefined;
  readonly flow: string | undefined;
  /** Rejects with what the server answered. */
  send(effect: WriteEffect, context: WriteContext): Promise<void>;
  /** Resolves when the edit is stored or the object is gone; rejects with what the server answered. */
  edit(effect: EditEffect, context: WriteContext): Promise<void>;
}

export function writable<T>(resource: Resource<T>, holder: ObjectHolder<NoInfer<T>> = {}): Writable {
  const create = async (effect: CreateEffect, context: WriteContext): Promise<T> => {
    const { writer, client, options, uid } = context;
    const { namespace, name, body, texts, existing } = effect;
    const { metadata, ...rest } = body;
    const whole = {
      apiVersion: groupVersionOf(resource),
      kind: resource.kind,
      metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...metadata },
      ...rest,
    };
    try {
      return await writer.create(resource, namespace, withTexts(whole, texts), options);
    } catch (error) {
      if (!mayExist(existing, error)) throw error;
      // What may be there is looked for, wanted or not.
      const { isWanted: _, ...reading } = options;
      const found = await client.get(resource, refIn(effect), reading).catch(ignoreNotFound);
      if (found === undefined) throw error;
      if (existing !== "any" && holder.controllerOf?.(found) !== uid) throw error;
      return found;
    }
  };
  const patch = (effect: PatchEffect, { writer, options }: WriteContext): Promise<T> => {
    const { subresource } = effect;
    const more = subresource === undefined ? {} : { subresource };
    return writer.patch(resource, refIn(effect), effect.patch, { ...options, ...more });
  };
  const remove = async (effect: DeleteEffect, { writer, options, key }: WriteContext): Promise<void> => {
    const { uid, resourceVersion, cascade } = effect;
    const removed = () => holder.removed?.(keyOf(refIn(effect)), uid, key);
    try {
      const left = await writer.delete(resource, refIn(effect), {
        ...options,
        uid,
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
        ...(cascade === true ? { propagationPolicy: "Background" as const } : {}),
      });
      if (left === undefined || holder.remains?.(left) === false) removed();
      else holder.writeBack?.(left, key);
    } catch (error) {
      if (isKubeError(error, "NotFound")) removed();
      throw error;
    }
  };
  const edits =
    holder.edits &&
    new Edits({
      ...holder.edits,
      resource,
      written: (object, planKey) => holder.writeBack?.(object, planKey),
      gone: (key, uid, planKey) => holder.removed?.(key, uid, planKey),
    });
  return {
    kind: resource.kind,
    scope: holder.scope,
    flow: holder.flow,
    async send(effect, context) {
      if (effect.type === "delete") return remove(effect, context);
      const written = await (effect.type === "create" ? create(effect, context) : patch(effect, context));
      holder.writeBack?.(written, context.key);
    },
    async edit(effect, context) {
      if (edits === undefined)
        throw new Error(`effects edit ${effect.resource}, whose holder knows no edits`);
      return edits.write(refIn(effect), effect.edit, context);
    },
  };
}

function refIn({ namespace, name }: Pick<WriteEffect, "namespace" | "name">): ObjectRef {
  return namespace === undefined ? { name } : { namespace, name };
}

/** Whether an object may have the name, and counts as the created one then. */
function mayExist(existing: CreateEffect["existing"], error: unknown): boolean {
  if (existing === undefined || existing === "unread" || !isKubeError(error)) return false;
  return error.ambiguous || (existing !== "own if lost" && error.code === "AlreadyExists");
}

/** JSON text goes out byte for byte. */
function withTexts(body: object, texts: CreateEffect["texts"]): object | string {
  if (texts === undefined) return body;
  const members = Object.entries(texts).map(([name, text]) => `,${JSON.stringify(name)}:${text}`);
  return `${JSON.stringify(body).slice(0, -1)}${members.join("")}}`;
}
