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
import type { AdmissionResponse } from "../../runtime/admission/request.ts";
import {
  defaultingHandler,
  refusedFor,
  templateDefaulting,
  typedHandler,
} from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook, type WebhookDeps } from "../../runtime/admission/webhook.ts";

async function validate(
  next: DecodedStatefulSet,
  old: DecodedStatefulSet | undefined,
  { client, options }: WebhookDeps,
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
    handler: ({ options }) => {
      const defaulting = {
        ...templateDefaulting(options),
        deletesClaims: options.gates.StatefulSetAutoDeletePVC,
        resizesClaims: options.gates.StatefulSetAutoResizePVCGate,
      };
      return defaultingHandler(statefulSet.read, (object, old) =>
        defaultStatefulSet(object, { ...defaulting, old }),
      );
    },
  }),
  kindWebhook("validating", statefulSet, {
    earlierVersions: ["v1alpha1", "v1beta1"],
    operations: ["CREATE", "UPDATE", "DELETE"],
    handler: (deps) => {
      const written = typedHandler(statefulSet.read, (next, old) => validate(next, old, deps));
      return deps.reported("StatefulSet", withProtectedReplicas(deps.options.gates, written));
    },
  }),
];
