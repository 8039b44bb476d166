import type { ObjectRef } from "../../kube/core/index.ts";
import type { Fields } from "../json.ts";
import type { Served } from "../resources/resource.ts";
import type { FieldSet } from "./field_set.ts";

export interface User {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface ManagedEntry {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly time: string;
  readonly subresource: string;
  readonly fields: FieldSet;
}

/** What server-side apply decided: the entries after it. */
export interface ApplyRecord {
  readonly entries: readonly ManagedEntry[];
}

/** One write as the handlers understood it. */
export interface WriteRequest {
  readonly served: Served;
  /** Empty for the object itself. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: User;
  readonly userAgent: string;
  /** Who the written fields are recorded for. */
  readonly fieldManager: string;
  readonly dryRun: boolean;
  /** CreateOptions, UpdateOptions, PatchOptions or DeleteOptions, as webhooks see them. */
  readonly options: Fields;
  /** Set by server-side apply: who owns what at creation. */
  readonly applied?: ApplyRecord;
  /** Texts for Warning headers; grows during the write. */
  readonly warnings: string[];
}

/** A write that a part of the server itself makes, without webhooks. */
export function requestAtOnce(served: Served, ref: ObjectRef): WriteRequest {
  return {
    served,
    subresource: "",
    namespace: ref.namespace ?? "",
    name: ref.name,
    user: { username: "system:sandbox", groups: ["system:masters"] },
    userAgent: "sandbox",
    fieldManager: "sandbox",
    dryRun: false,
    options: {},
    warnings: [],
  };
}
