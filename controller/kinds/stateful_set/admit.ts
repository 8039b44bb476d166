/** Admission of StatefulSets, both versions. Spec: statefulset 6. */
import {
  type DecodedStatefulSet,
  defaultStatefulSet,
  type FoundStorageClass,
  statefulSet,
  storageClassNames,
  type TemplateDefaulting,
  validateStatefulSet,
} from "../../../crds/index.ts";
import { lookupStorageClass } from "../../native/storage_classes.ts";
import { protectReplicas } from "../../runtime/admission/deletion_protection.ts";
import { type AdmissionHandler, type AdmissionResponse, allowed } from "../../runtime/admission/request.ts";
import {
  defaultingHandler,
  refusedFor,
  templateDefaulting,
  typedHandler,
} from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook, type WebhookDeps } from "../../runtime/admission/webhook.ts";

export interface StatefulSetAdmissionOptions extends TemplateDefaulting {
  /** Gate ResourcesDeletionProtection. */
  deletionProtection: boolean;
  /** Gate StatefulSetAutoDeletePVC. */
  deletesClaims: boolean;
  /** Gate StatefulSetAutoResizePVCGate. */
  resizesClaims: boolean;
  /** A class by name, the newest default class for undefined; undefined when there is none. */
  lookupStorageClass(name: string | undefined): Promise<FoundStorageClass | undefined>;
}

/** The handler of `/mutate-apps-kruise-io-statefulset`. */
export function mutateStatefulSet(options: StatefulSetAdmissionOptions): AdmissionHandler {
  const { templateDefaults, hostNetworkPorts, deletesClaims, resizesClaims } = options;
  return defaultingHandler(statefulSet.read, (object, old) =>
    defaultStatefulSet(object, { templateDefaults, hostNetworkPorts, deletesClaims, resizesClaims, old }),
  );
}

/** The handler of `/validate-apps-kruise-io-statefulset`. */
export function validateStatefulSetRequest(options: StatefulSetAdmissionOptions): AdmissionHandler {
  const written = typedHandler(statefulSet.read, (next, old) => validate(next, old, options));
  return (request) => {
    if (request.operation !== "DELETE") return written(request);
    return options.deletionProtection ? protectReplicas(request) : allowed;
  };
}

async function validate(
  next: DecodedStatefulSet,
  old: DecodedStatefulSet | undefined,
  options: StatefulSetAdmissionOptions,
): Promise<AdmissionResponse> {
  const classes = new Map<string | undefined, FoundStorageClass | undefined>();
  if (options.resizesClaims && old?.version === "v1beta1" && next.version === "v1beta1") {
    for (const name of storageClassNames(next.object.spec)) {
      if (!classes.has(name)) classes.set(name, await options.lookupStorageClass(name));
    }
  }
  const { resizesClaims } = options;
  return refusedFor(
    validateStatefulSet(next, old, { resizesClaims, storageClasses: (name) => classes.get(name) }),
    422,
  );
}

export const statefulSetWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", statefulSet, {
    earlierVersions: ["v1alpha1", "v1beta1"],
    handler: (deps) => mutateStatefulSet(optionsOf(deps)),
  }),
  kindWebhook("validating", statefulSet, {
    earlierVersions: ["v1alpha1", "v1beta1"],
    operations: ["CREATE", "UPDATE", "DELETE"],
    handler: (deps) => deps.reported("StatefulSet", validateStatefulSetRequest(optionsOf(deps))),
  }),
];

function optionsOf({ client, options }: WebhookDeps): StatefulSetAdmissionOptions {
  const { gates } = options;
  return {
    ...templateDefaulting(options),
    deletionProtection: gates.ResourcesDeletionProtection,
    deletesClaims: gates.StatefulSetAutoDeletePVC,
    resizesClaims: gates.StatefulSetAutoResizePVCGate,
    lookupStorageClass: (name) => lookupStorageClass(client, name),
  };
}
