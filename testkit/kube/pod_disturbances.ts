/** What a record of pods shows that their workloads would notice. Pure. */
import { fieldsAt, listAt, numberAt, sameJson } from "../../cli/fields.ts";

export interface PodChange {
  /** A watch event's type, or PRESENT for a pod that was there at the start. */
  readonly type: string;
  readonly object: PodSeen;
}

interface PodSeen {
  readonly metadata: {
    readonly name?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [other: string]: unknown;
}

/** Names of pods, once an occurrence. */
export interface PodDisturbances {
  readonly deleted: readonly string[];
  readonly created: readonly string[];
  /** A container of it was. */
  readonly restarted: readonly string[];
  /** Its spec was. */
  readonly changed: readonly string[];
  /** Its labels or annotations were. */
  readonly patched: readonly string[];
}

export const undisturbed: PodDisturbances = {
  deleted: [],
  created: [],
  restarted: [],
  changed: [],
  patched: [],
};

/** Of the pods of one namespace, whose changes are in their order. */
export function podDisturbances(changes: readonly PodChange[]): PodDisturbances {
  const seen: Record<keyof PodDisturbances, string[]> = {
    deleted: [],
    created: [],
    restarted: [],
    changed: [],
    patched: [],
  };
  const pods = new Map<string, PodSeen>();
  for (const { type, object } of changes) {
    const { name = "" } = object.metadata;
    const before = pods.get(name);
    if (type === "DELETED") seen.deleted.push(name);
    if (type === "ADDED") seen.created.push(name);
    if (type === "MODIFIED" && before !== undefined) {
      if (restartsOf(object) > restartsOf(before)) seen.restarted.push(name);
      if (!sameJson(fieldsAt(object, "spec"), fieldsAt(before, "spec"))) seen.changed.push(name);
      if (!sameJson(textsOf(object), textsOf(before))) seen.patched.push(name);
    }
    pods.set(name, object);
  }
  return seen;
}

function textsOf({ metadata: { labels, annotations } }: PodSeen): object {
  return { labels, annotations };
}

function restartsOf(pod: PodSeen): number {
  return listAt(pod, "status", "containerStatuses").reduce<number>(
    (sum, status) => sum + (numberAt(status, "restartCount") ?? 0),
    0,
  );
}
