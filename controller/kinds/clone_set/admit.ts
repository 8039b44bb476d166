/** Admission of CloneSets, both versions. Spec: cloneset 6. */
import {
  cloneSet,
  type DecodedCloneSet,
  defaultCloneSet,
  type FoundPod,
  newPodsToDelete,
  type TemplateDefaulting,
  validateCloneSet,
} from "../../../crds/index.ts";
import { ignoreNotFound, messageOf, podResource, type ReadingClient } from "../../../kube/index.ts";
import { protectReplicas } from "../../runtime/admission/deletion_protection.ts";
import {
  type AdmissionHandler,
  type AdmissionResponse,
  allowed,
  denied,
} from "../../runtime/admission/request.ts";
import {
  defaultingHandler,
  refusedFor,
  templateDefaulting,
  typedHandler,
} from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook, type WebhookDeps } from "../../runtime/admission/webhook.ts";

export interface CloneSetAdmissionOptions extends TemplateDefaulting {
  /** Gate ResourcesDeletionProtection. */
  deletionProtection: boolean;
  /** Flag --allow-privileged. */
  allowPrivileged: boolean;
  /** Undefined when there is no such pod; rejects when that cannot be found out. */
  lookupPod(namespace: string, name: string): Promise<FoundPod | undefined>;
}

/** The handler of `/mutate-apps-kruise-io-cloneset`. */
export function mutateCloneSet(options: CloneSetAdmissionOptions): AdmissionHandler {
  const { templateDefaults, hostNetworkPorts } = options;
  return defaultingHandler(cloneSet.read, (object, old) =>
    defaultCloneSet(object, { templateDefaults, hostNetworkPorts, old }),
  );
}

/** The handler of `/validate-apps-kruise-io-cloneset`. */
export function validateCloneSetRequest(options: CloneSetAdmissionOptions): AdmissionHandler {
  const written = typedHandler(cloneSet.read, (next, old, { namespace }) =>
    validate(namespace, next, old, options),
  );
  return (request) => {
    if (request.operation !== "DELETE") return written(request);
    return options.deletionProtection ? protectReplicas(request) : allowed;
  };
}

async function validate(
  namespace: string,
  next: DecodedCloneSet,
  old: DecodedCloneSet | undefined,
  options: CloneSetAdmissionOptions,
): Promise<AdmissionResponse> {
  const pods = new Map<string, FoundPod>();
  const problems: string[] = [];
  for (const name of newPodsToDelete(next, old)) {
    try {
      const pod = await options.lookupPod(namespace, name);
      if (pod !== undefined) pods.set(name, pod);
    } catch (error) {
      problems.push(`find pod ${name} failed: ${messageOf(error)}`);
    }
  }
  if (problems.length > 0)
    return denied(422, `spec.scaleStrategy.podsToDelete: Internal error: ${problems.join("; ")}`);
  const { allowPrivileged } = options;
  return refusedFor(validateCloneSet(next, old, { allowPrivileged, findPod: (name) => pods.get(name) }), 422);
}

export const cloneSetWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", cloneSet, { handler: (deps) => mutateCloneSet(optionsOf(deps)) }),
  kindWebhook("validating", cloneSet, {
    operations: ["CREATE", "UPDATE", "DELETE"],
    handler: (deps) => deps.reported("CloneSet", validateCloneSetRequest(optionsOf(deps))),
  }),
];

function optionsOf({ client, options, allowPrivileged }: WebhookDeps): CloneSetAdmissionOptions {
  return {
    ...templateDefaulting(options),
    deletionProtection: options.gates.ResourcesDeletionProtection,
    allowPrivileged,
    lookupPod: (namespace, name) => lookupPod(client, namespace, name),
  };
}

async function lookupPod(
  client: ReadingClient,
  namespace: string,
  name: string,
): Promise<FoundPod | undefined> {
  const pod = await client.get(podResource, { namespace, name }).catch(ignoreNotFound);
  return pod && { ownerUid: pod.controller?.uid, terminating: pod.deletionAt !== undefined };
}
