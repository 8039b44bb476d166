/** What a subset makes of a new pod. Pure. Spec: workloadspread 4.1 rule 10. */
import { matchedWorkloadSpreadAnnotation, type WorkloadSpreadSubset } from "../../../crds/index.ts";
import {
  applyStrategicPatch,
  cloneJson,
  ensureObject,
  goJson,
  isJsonObject,
  type JsonObject,
  type NodeSelectorTerm,
  own,
} from "../../../kube/core/index.ts";
import { objectAt, textAt } from "../../native/json_fields.ts";
import { deletionCostAnnotation } from "./costs.ts";

/** The pod's place: what its annotation says. */
export interface Match {
  readonly name: string;
  readonly subset: string;
  /** Under which the ledger knows a pod that had no name yet. */
  readonly uid?: string;
}

/**
 * A copy of the pod with everything that the subset asks. `cost`: of its deletion, which a pass would have to write later. Throws PatchError for a patch that does not fit.
 */
export function injectSubset(
  original: JsonObject,
  subset: WorkloadSpreadSubset,
  match: Match,
  cost?: number,
): JsonObject {
  const pod = cloneJson(original);
  const spec = ensureObject(pod, "spec");
  append(spec, "tolerations", subset.tolerations ?? []);
  addAffinity(ensureObject(ensureObject(spec, "affinity"), "nodeAffinity"), subset);
  const patched = withPatch(pod, subset);
  const annotations = ensureObject(ensureObject(patched, "metadata"), "annotations");
  annotations[matchedWorkloadSpreadAnnotation] = goJson(match);
  if (cost !== undefined) annotations[deletionCostAnnotation] = String(cost);
  return patched;
}

/** The pod as the subset's patch makes it. Throws PatchError. */
export function withPatch(pod: JsonObject, { patch }: WorkloadSpreadSubset): JsonObject {
  if (!isJsonObject(patch)) return pod;
  const patched = cloneJson(applyStrategicPatch(pod, patch, "Pod"));
  const spec = objectAt(patched, "spec");
  // The API server has resolved the priority of the former class, and refuses another one beside the new class.
  if (textAt(spec, "priorityClassName") !== textAt(objectAt(pod, "spec"), "priorityClassName"))
    delete spec["priority"];
  return patched;
}

/** The match that a pod's annotation tells of; undefined for none, and for what cannot be read. */
export function matchOf(annotation: string | undefined): Match | undefined {
  if (annotation === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(annotation);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const [name, subset, uid] = [textAt(value, "name"), textAt(value, "subset"), textAt(value, "uid")];
  return { name, subset, ...(uid === "" ? {} : { uid }) };
}

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";

function addAffinity(nodeAffinity: JsonObject, subset: WorkloadSpreadSubset): void {
  append(nodeAffinity, PREFERRED, subset.preferredNodeSelector ?? []);
  const term = subset.requiredNodeSelector;
  if (!term) return;
  const required = ensureObject(nodeAffinity, REQUIRED);
  const terms = own(required, "nodeSelectorTerms");
  const present = Array.isArray(terms) ? terms.filter(isJsonObject) : [];
  if (present.length === 0) required["nodeSelectorTerms"] = [cloneJson(term)];
  // Terms are alternatives, what is in one of them holds together.
  else for (const each of present) extend(each, term);
}

function extend(present: JsonObject, term: NodeSelectorTerm): void {
  append(present, "matchExpressions", term.matchExpressions ?? []);
  append(present, "matchFields", term.matchFields ?? []);
}

function append(object: JsonObject, key: string, items: readonly unknown[]): void {
  if (items.length === 0) return;
  const present = own(object, key);
  object[key] = [...(Array.isArray(present) ? present : []), ...cloneJson([...items])];
}
