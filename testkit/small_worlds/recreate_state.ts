/** What a small world of ContainerRecreateRequests stores, and how its objects are read. */
import { objectAt, objectsAt, textAt } from "../../controller/native/json_fields.ts";
import {
  type ContainerRecreateRequest,
  RECREATE_ACTIVE_LABEL,
  RECREATE_POD_UID_LABEL,
} from "../../crds/index.ts";
import type { JsonObject } from "../../kube/core/index.ts";

/** The newest one of its name. */
export interface Instance {
  readonly id: string;
  readonly restartCount: number;
  readonly state: "running" | "exited";
  readonly isReady: boolean;
  readonly startedAt: number;
}

export type Containers = ReadonlyMap<string, Instance>;

export interface Stored {
  readonly requests: ReadonlyMap<string, ContainerRecreateRequest>;
  /** What has the name of the pod. */
  readonly pod: JsonObject | undefined;
  /** Containers on the node, by the UID of their pod. */
  readonly node: ReadonlyMap<string, Containers>;
  /** What ran until it was stopped for a request: the UID of that, and the container. */
  readonly stops: readonly string[];
  /** Since when the pod is held not ready, by the key of who holds it. */
  readonly heldSince: ReadonlyMap<string, number>;
  readonly version: number;
  readonly now: number;
}

/** One that the agent asked the runtime for. */
export interface Stop {
  readonly request: string;
  readonly pod: string;
  readonly container: string;
  readonly id: string;
}

export const POD = "web";
export const NODE = "node-1";
export const RUNTIME = "containerd";
export const startMs = Date.UTC(2026, 0, 1);

export function uidOf(object: JsonObject | undefined): string {
  return textAt(objectAt(object ?? {}, "metadata"), "uid");
}

export function versionOf(object: JsonObject | undefined): string {
  return textAt(objectAt(object ?? {}, "metadata"), "resourceVersion");
}

export function isGoing(object: JsonObject): boolean {
  return textAt(objectAt(object, "metadata"), "deletionTimestamp") !== "";
}

/** What the agent's watch shows. */
export function isActive({ metadata }: ContainerRecreateRequest): boolean {
  return metadata.labels?.[RECREATE_ACTIVE_LABEL] === "true";
}

/** Whose keys are in the condition that holds a pod not ready. */
export function holdersOf(pod: JsonObject | undefined): string[] {
  const conditions = objectsAt(objectAt(pod ?? {}, "status"), "conditions");
  const condition = conditions.find((one) => textAt(one, "type") === "KruisePodReady");
  const { message, status } = condition ?? {};
  const keys: unknown = JSON.parse(typeof message === "string" && message !== "" ? message : "[]");
  const held = Array.isArray(keys) ? keys.map(({ userAgent, key }) => `${userAgent} ${key}`) : [];
  if ((status === "False") !== held.length > 0) throw new Error(`it is ${status} for ${held.length} keys`);
  return held;
}

export function podUidOf({ metadata }: ContainerRecreateRequest): string {
  return metadata.labels?.[RECREATE_POD_UID_LABEL] ?? "";
}
