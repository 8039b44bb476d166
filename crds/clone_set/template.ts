/** Pod template and claim templates of a CloneSet: defaults and validation. Spec: cloneset 6. */
import {
  defaultPodTemplate,
  type FieldError,
  forbidden,
  isJsonObject,
  type JsonObject,
  notSupported,
} from "../../kube/core/index.ts";
import type { CloneSetSpec, CloneSetSpecV1alpha1 } from "./schema.ts";

/** A copy of the template with the defaults of the pod API, but with pull policy Always where none is given. */
export function defaultTemplate(template: JsonObject, options: { hostNetworkPorts: boolean }): JsonObject {
  return defaultPodTemplate(template, {
    imagePullPolicy: "Always",
    hostNetworkPorts: options.hostNetworkPorts,
  });
}

/** As the API server shows claims that are not bound; claims that are stored are written by it. */
export function defaultClaimTemplates(claims: readonly unknown[]): void {
  for (const claim of claims) {
    if (!isJsonObject(claim)) continue;
    const status = isJsonObject(claim["status"]) ? claim["status"] : {};
    if (!status["phase"]) status["phase"] = "Pending";
    claim["status"] = status;
  }
}

export function validateTemplate(
  spec: CloneSetSpec | CloneSetSpecV1alpha1,
  _options: { allowPrivileged: boolean },
): FieldError[] {
  const errors: FieldError[] = [];
  const pod = spec.template?.spec;
  const path = "spec.template.spec";
  if (pod?.restartPolicy !== undefined && pod.restartPolicy !== "Always") {
    errors.push(notSupported(`${path}.restartPolicy`, pod.restartPolicy, ["Always"]));
  }
  if (pod?.["activeDeadlineSeconds"] !== undefined && pod["activeDeadlineSeconds"] !== null) {
    errors.push(
      forbidden(`${path}.activeDeadlineSeconds`, "activeDeadlineSeconds in cloneset is not Supported"),
    );
  }
  return errors;
}
