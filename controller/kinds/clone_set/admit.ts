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
import { type AdmissionResponse, denied } from "../../runtime/admission/request.ts";
import {
  defaultingHandler,
  refusedFor,
  templateDefaulting,
  typedHandler,
} from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook, type WebhookDeps } from "../../runtime/admission/webhook.ts";

async function validate(
  namespace: string,
  next: DecodedCloneSet,
  old: DecodedCloneSet | undefined,
  { client, allowPrivileged }: WebhookDeps,
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
  kindWebhook("mutating", cloneSet, {
    handler: ({ options }) =>
      defaultingHandler(cloneSet.read, (object, old) =>
        defaultCloneSet(object, { ...templateDefaulting(options), old }),
      ),
  }),
  kindWebhook("validating", cloneSet, {
    operations: ["CREATE", "UPDATE", "DELETE"],
    handler: (deps) => {
      const written = typedHandler(cloneSet.read, (next, old, { namespace }) =>
        validate(namespace, next, old, deps),
      );
      return deps.reported("CloneSet", withProtectedReplicas(deps.options.gates, written));
    },
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
