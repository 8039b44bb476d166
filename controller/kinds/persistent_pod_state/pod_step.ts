/** Brings a pod back to where one of its name was last Ready. Spec: pod-webhook 4.6, persistentpodstate 4, rules 12 to 18. */
import {
  injectedPersistentPodStateAnnotation,
  isStatefulSet,
  type PersistentPodState,
} from "../../../crds/index.ts";
import type { JsonObject } from "../../../kube/core/index.ts";
import { textAt } from "../../native/json_fields.ts";
import { controllerIn } from "../../native/owners.ts";
import { type PodDraft, writableList, writableObject } from "../../runtime/admission/pod_draft.ts";
import type { targetValue } from "./targets.ts";

/** The object that records the pods of a workload, if there is one. */
export type StateSource = (
  ...target: Parameters<typeof targetValue>
) => Promise<PersistentPodState | undefined>;

/** Adds the recorded labels: required ones to the node selector, preferred ones as terms of node affinity. */
export function addPersistentPlacement(draft: PodDraft, stateOf: StateSource): void | Promise<void> {
  if (draft.request.operation !== "CREATE") return;
  const owner = controllerIn(draft.metadata);
  const podName = textAt(draft.metadata, "name");
  if (owner === undefined || podName === "") return;
  const { group, kind, name } = owner;
  if (!isStatefulSet(group, kind)) return;
  return stateOf(draft.namespace, group, kind, name).then((state) => {
    if (state !== undefined) place(draft, podName, state);
  });
}

function place(draft: PodDraft, podName: string, { metadata, spec, status }: PersistentPodState): void {
  const states = status?.podStates ?? {};
  const labels = (Object.hasOwn(states, podName) ? states[podName]?.nodeTopologyLabels : undefined) ?? {};
  if (Object.keys(labels).length === 0) return;
  const pod = draft.edit();
  const podSpec = writableObject(pod, "spec");
  const known = (keys: readonly string[] | undefined) =>
    (keys ?? []).filter((key) => Object.hasOwn(labels, key));
  for (const key of known(spec.requiredPersistentTopology?.keys)) {
    writableObject(podSpec, "nodeSelector")[key] = labels[key];
  }
  for (const { weight, preference } of spec.preferredPersistentTopology ?? []) {
    const matchExpressions = known(preference.keys).map((key) => ({
      key,
      operator: "In",
      values: [labels[key]],
    }));
    // Without conditions it would be no preference; with another weight the API server would refuse the pod.
    if (matchExpressions.length === 0 || weight < 1) continue;
    preferredTerms(podSpec).push({ weight: Math.min(weight, 100), preference: { matchExpressions } });
  }
  writableObject(writableObject(pod, "metadata"), "annotations")[injectedPersistentPodStateAnnotation] =
    metadata.name ?? "";
}

function preferredTerms(podSpec: JsonObject): unknown[] {
  const nodeAffinity = writableObject(writableObject(podSpec, "affinity"), "nodeAffinity");
  return writableList(nodeAffinity, "preferredDuringSchedulingIgnoredDuringExecution");
}
