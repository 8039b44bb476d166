/** Admission of StatefulSets, both versions. Spec: statefulset 6. */
import {
  type DecodedStatefulSet,
  defaultStatefulSet,
  type FoundStorageClass,
  statefulSet,
  storageClassNames,
  validateStatefulSet,
} from "../../../crds/index.ts";
import { lookupStorageClass } from "../../native/storage_classes.ts";
import { withProtectedReplicas } from "../../runtime/admission/deletion_protection.ts";
import type { AdmissionHandler, AdmissionResponse } from "../../runtime/admission/request.ts";
import {
  defaultingHandler,
  refusedFor,
  templateDefaulting,
  typedHandler,
} from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook, type WebhookDeps } from "../../runtime/admission/webhook.ts";
import type { ControllerOptions } from "../../runtime/options.ts";

type ValidationDeps = Pick<WebhookDeps, "client" | "options">;

/** The handler of `/mutate-apps-kruise-io-statefulset`. */
export function mutateStatefulSet(options: ControllerOptions): AdmissionHandler {
  const defaulting = {
    ...templateDefaulting(options),
    deletesClaims: options.gates.StatefulSetAutoDeletePVC,
    resizesClaims: options.gates.StatefulSetAutoResizePVCGate,
  };
  return defaultingHandler(statefulSet.read, (object, old) =>
    defaultStatefulSet(object, { ...defaulting, old }),
  );
}

/** The handler of `/validate-apps-kruise-io-statefulset`. */
export function validateStatefulSetRequest(deps: ValidationDeps): AdmissionHandler {
  const written = typedHandler(statefulSet.read, (next, old) => validate(next, old, deps));
  return withProtectedReplicas(deps.options.gates, written);
}

async function validate(
  next: DecodedStatefulSet,
  old: DecodedStatefulSet | undefined,
  { client, options }: ValidationDeps,
): Promise<AdmissionResponse> {
  const resizesClaims = options.gates.StatefulSetAutoResizePVCGate;
  const classes = new Map<string | undefined, FoundStorageClass | undefined>();
  if (resizesClaims && old?.version === "v1beta1" && next.version === "v1beta1") {
    for (const name of storageClassNames(next.object.spec)) {
      if (!classes.has(name)) classes.set(name, await lookupStorageClass(client, name));
    }
  }
  return refusedFor(
    validateStatefulSet(next, old, { resizesClaims, storageClasses: (name) => classes.get(name) }),
    422,
  );
}

export const statefulSetWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", statefulSet, {
    earlierVersions: ["v1alpha1", "v1beta1"],
    handler: ({ options }) => mutateStatefulSet(options),
  }),
  kindWebhook("validating", statefulSet, {
    earlierVersions: ["v1alpha1", "v1beta1"],
    operations: ["CREATE", "UPDATE", "DELETE"],
    handler: (deps) => deps.reported("StatefulSet", validateStatefulSetRequest(deps)),
  }),
];
