/** Liveness probes that the node agent runs in the kubelet's place. Spec: pod-webhook 4.7. */
import { goJson, isJsonObject, type JsonObject, own } from "../../kube/core/index.ts";
import { objectAt, objectsAt } from "../native/json_fields.ts";
import { type PodDraft, writableList, writableObject } from "../runtime/admission/pod_draft.ts";
import { ownedByThisApi } from "./readiness_gate.ts";

const enhancedLivenessAnnotation = "apps.kruise.io/using-enhanced-liveness";
const probeContextAnnotation = "apps.kruise.io/container-probe-context";

/** Moves the liveness probes of containers, injected ones too, into an annotation. Init containers keep theirs. */
export function moveLivenessProbes(draft: PodDraft): void {
  if (draft.request.operation !== "CREATE" || !ownedByThisApi(draft)) return;
  if (own(objectAt(draft.metadata, "annotations"), enhancedLivenessAnnotation) !== "true") return;
  if (!objectsAt(draft.spec, "containers").some(hasProbe)) return;
  const pod = draft.edit();
  const spec = writableObject(pod, "spec");
  const moved: JsonObject[] = [];
  spec["containers"] = writableList(spec, "containers").map((container) => {
    if (!isJsonObject(container) || !hasProbe(container)) return container;
    const { livenessProbe, ...rest } = container;
    moved.push({ name: container["name"], livenessProbe });
    return rest;
  });
  writableObject(writableObject(pod, "metadata"), "annotations")[probeContextAnnotation] = goJson(moved);
}

/** A probe that the agent can run in the kubelet's place: others stay with the kubelet rather than with nobody. */
function hasProbe(container: JsonObject): boolean {
  const probe = objectAt(container, "livenessProbe");
  if (isJsonObject(probe["exec"])) return true;
  const action = isJsonObject(probe["httpGet"]) ? probe["httpGet"] : probe["tcpSocket"];
  return isJsonObject(action) && (action["host"] ?? "") === "";
}
