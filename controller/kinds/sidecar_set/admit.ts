/** Admission of SidecarSets, both versions. Spec: sidecarset 6. */
import {
  apiVersionOf,
  customVersionLabel,
  type Draft,
  defaultSidecarSet,
  type RevisionChoice,
  revisionSidecarSetLabel,
  type SidecarSet,
  sidecarSet,
  validateSidecarSet,
} from "../../../crds/index.ts";
import { formatSelector, jsonEqual, ParseError } from "../../../kube/core/index.ts";
import { controllerRevisionResource, ignoreNotFound, type ReadingClient } from "../../../kube/index.ts";
import { configured } from "../../native/config_maps.ts";
import { sidecarSetResource } from "../../plan/resources.ts";
import type { AdmissionHandler } from "../../runtime/admission/request.ts";
import { defaultingHandler, refusedFor, typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook, type WebhookDeps } from "../../runtime/admission/webhook.ts";

/**
 * Lists the annotations that SidecarSets may write onto pods. Read for each SidecarSet that writes any: they are rare, and
 * whoever extends the list applies such a SidecarSet next. Spec: platform 5.
 */
const whitelistKey = "SidecarSet_PatchPodMetadata_WhiteList";

/** The handler of `/validate-apps-kruise-io-sidecarset`. A refusal has code 500, as in the API. */
export function validateSidecarSetRequest({
  client,
  allowPrivileged,
  options: { gates, systemNamespace },
}: Pick<WebhookDeps, "client" | "allowPrivileged" | "options">): AdmissionHandler {
  return typedHandler(sidecarSet.readStored, async ({ object }, old) => {
    const patches = object.spec?.patchPodMetadata ?? [];
    const revision = object.spec?.injectionStrategy?.revision;
    const [stored, text, problem] = await Promise.all([
      storedSets(client),
      patches.length > 0 ? configured(client, systemNamespace, whitelistKey) : undefined,
      revision ? findRevision(client, systemNamespace, object, revision) : undefined,
    ]);
    const whitelist = { text, allowedByDefault: gates.SidecarSetPatchPodMetadataDefaultsAllowed };
    // Of another choice, which the stored object may have, nothing was asked: its revision excuses no other one.
    const revisionProblem = (choice: RevisionChoice) => (jsonEqual(choice, revision) ? problem : undefined);
    const context = { allowPrivileged, whitelist, stored, revisionProblem };
    return refusedFor(validateSidecarSet(object, old?.object, context), 500);
  });
}

/** What was stored while no webhook looked may be malformed: it conflicts with nothing, and must not stop anybody. */
async function storedSets(client: ReadingClient): Promise<SidecarSet[]> {
  const { items } = await client.list(sidecarSetResource);
  return items.flatMap((item) => {
    const decoded = sidecarSet.readStored({ ...item, apiVersion: apiVersionOf(sidecarSet) });
    if ("errors" in decoded) return [];
    return [{ ...decoded.object, spec: decoded.object.spec ?? {} }];
  });
}

/** Why the revision that new pods are to get is not there; undefined if it is. Spec: sidecarset, rule 13. */
async function findRevision(
  client: ReadingClient,
  namespace: string,
  { metadata: { name: set = "" } }: Draft<SidecarSet>,
  { revisionName, customVersion }: RevisionChoice,
): Promise<string | undefined> {
  const notFound = (name: string) => `ControllerRevision.apps "${name}" not found`;
  if (typeof revisionName === "string") {
    if (revisionName === "") return notFound(revisionName);
    const place = { namespace, name: revisionName };
    const revision = await client.get(controllerRevisionResource, place).catch(ignoreNotFound);
    return revision === undefined ? notFound(revisionName) : undefined;
  }
  if (typeof customVersion !== "string") return undefined;
  try {
    const labels = { [revisionSidecarSetLabel]: set, [customVersionLabel]: customVersion };
    const labelSelector = formatSelector({ matchLabels: labels });
    const { items } = await client.list(controllerRevisionResource, { namespace, labelSelector });
    return items.length === 0 ? notFound(set) : undefined;
  } catch (error) {
    if (error instanceof ParseError) return error.message;
    throw error;
  }
}

export const sidecarSetWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", sidecarSet, {
    handler: () => defaultingHandler(sidecarSet.read, defaultSidecarSet),
  }),
  kindWebhook("validating", sidecarSet, { handler: validateSidecarSetRequest }),
];
