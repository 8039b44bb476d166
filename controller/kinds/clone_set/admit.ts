/** Admission of CloneSets, both versions. Spec: cloneset 6. */
import {
  cloneSet,
  type DecodedCloneSet,
  defaultCloneSet,
  type FoundPod,
  newPodsToDelete,
  validateCloneSet,
} from "../../../crds/index.ts";
import { ignoreNotFound, messageOf, podResource, type ReadingClient } from "../../../kube/index.ts";
import { withProtectedReplicas } from "../../runtime/admission/deletion_protection.ts";
import { type AdmissionHandler, type AdmissionResponse, denied } from "../../runtime/admission/request.ts";
import {
  defaultingHandler,
  refusedFor,
  templateDefaulting,
  typedHandler,
} from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook, type WebhookDeps } from "../../runtime/admission/webhook.ts";
import type { ControllerOptions } from "../../runtime/options.ts";

type ValidationDeps = Pick<WebhookDeps, "client" | "options" | "allowPrivileged">;

/** The handler of `/mutate-apps-kruise-io-cloneset`. */
export function mutateCloneSet(options: ControllerOptions): AdmissionHandler {
  const defaulting = templateDefaulting(options);
  return defaultingHandler(cloneSet.read, (object, old) => defaultCloneSet(object, { ...defaulting, old }));
}

/** The handler of `/validate-apps-kruise-io-cloneset`. */
export function validateCloneSetRequest(deps: ValidationDeps): AdmissionHandler {
  const written = typedHandler(cloneSet.read, (next, old, { namespace }) =>
    validate(namespace, next, old, deps),
  );
  return withProtectedReplicas(deps.options.gates, written);
}

async function validate(
  namespace: string,
  next: DecodedCloneSet,
  old: DecodedCloneSet | undefined,
  { client, allowPrivileged }: ValidationDeps,
): Promise<AdmissionResponse> {
  const pods = new Map<string, FoundPod>();
  const problems: string[] = [];
  for (const name of newPodsToDelete(next, old)) {
    try {
      const pod = await lookupPod(client, namespace, name);
      if (pod !== undefined) pods.set(name, pod);
    } catch (error) {
      problems.push(`find pod ${name} failed: ${messageOf(error)}`);
    }
  }
  if (problems.length > 0)
    return denied(422, `spec.scaleStrategy.podsToDelete: Internal error: ${problems.join("; ")}`);
  return refusedFor(validateCloneSet(next, old, { allowPrivileged, findPod: (name) => pods.get(name) }), 422);
}

export const cloneSetWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", cloneSet, { handler: ({ options }) => mutateCloneSet(options) }),
  kindWebhook("validating", cloneSet, {
    operations: ["CREATE", "UPDATE", "DELETE"],
    handler: (deps) => deps.reported("CloneSet", validateCloneSetRequest(deps)),
  }),
];

/** Undefined when there is no such pod; rejects when that cannot be found out. */
async function lookupPod(
  client: ReadingClient,
  namespace: string,
  name: string,
): Promise<FoundPod | undefined> {
  const pod = await client.get(podResource, { namespace, name }).catch(ignoreNotFound);
  return pod && { ownerUid: pod.controller?.uid, terminating: pod.deletionAt !== undefined };
}
