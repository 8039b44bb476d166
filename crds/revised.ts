/** What ControllerRevisions hold of an object, for each kind that has any. Spec: inplace-update 4.11. */
import { isJsonObject, own, revisionData } from "../kube/core/index.ts";
import { member } from "./members.ts";

export interface RevisedPart {
  /** Where it is, in the object as in the data of its revisions. */
  readonly path: readonly [string, ...string[]];
  /** How the reference's types write it: a name in wire_types.ts, or of a core type. */
  readonly type: string;
  /** `data` of the revision: exactly the reference's bytes, from which the revision's name follows. */
  readonly data: (part: unknown) => string;
}

/** The pod template of a workload. */
export const revisedPodTemplate: RevisedPart = {
  path: ["spec", "template"],
  type: "PodTemplateSpec",
  data: (template) => revisionData(isJsonObject(template) ? template : {}),
};

/** What the data of a revision hold; undefined when they are no JSON, or hold nothing there. */
export function revisedPartOf(data: string, { path }: RevisedPart): unknown {
  try {
    const parsed: unknown = JSON.parse(data);
    const holder = isJsonObject(parsed) ? path.slice(0, -1).reduce(member, parsed) : {};
    return own(holder, path.at(-1) ?? "");
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * True if a stored revision holds what `data` says, which is as `part` writes it. Others may have written it
 * otherwise: with zeros that mean nothing, as earlier releases did, or without `creationTimestamp: null`, as Kubernetes
 * does since 1.34.
 */
export function isSameRevision(stored: string, data: string, part: RevisedPart): boolean {
  if (stored === data) return true;
  const held = revisedPartOf(stored, part);
  return held !== undefined && part.data(held) === data;
}
