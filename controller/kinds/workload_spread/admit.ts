/** Admission of WorkloadSpreads, both versions. Spec: workloadspread 6. */
import {
  groupOf,
  spreadPatchErrors,
  spreadTargetOf,
  validateWorkloadSpread,
  type WorkloadSpread,
  workloadSpread,
} from "../../../crds/index.ts";
import { workloadSpreadResource } from "../../plan/resources.ts";
import { type AdmissionHandler, allowed } from "../../runtime/admission/request.ts";
import { gated, refusedFor, typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook, type WebhookDeps } from "../../runtime/admission/webhook.ts";
import { isPlaced } from "./match.ts";
import { Whitelist } from "./whitelist.ts";
import { workloadOf } from "./workload_lookup.ts";

/** Kinds whose templates are tried with the patches, by `group/kind`. */
const templated: ReadonlySet<string> = new Set([
  "apps/Deployment",
  "apps/ReplicaSet",
  "apps/StatefulSet",
  "apps.kruise.io/CloneSet",
  "batch/Job",
]);

function validate({ client, clock, options: { gates, systemNamespace } }: WebhookDeps): AdmissionHandler {
  const listed = new Whitelist({ client, clock, systemNamespace });
  const written = typedHandler(workloadSpread.readStored, async (next, old, { namespace }) => {
    const { spec } = next.object;
    const [{ items: others }, whitelist] = await Promise.all([
      client.list(workloadSpreadResource, { namespace }),
      listed.kinds(),
    ]);
    const isPatched = spec?.targetRef && spec.subsets?.some(({ patch }) => patch) === true;
    const workload =
      spec !== undefined && isPatched && isTemplated(spec)
        ? await workloadOf(client, namespace, spreadTargetOf({ spec }))
        : undefined;
    const errors = validateWorkloadSpread(next.object, old?.object, {
      others,
      isListed: (group, kind) => isPlaced({ group, kind }, whitelist),
      patchErrors: (subset, path) =>
        workload === undefined ? [] : spreadPatchErrors(workload, subset, path),
    });
    return refusedFor(errors, 400);
  });
  const open = gated(gates, ["WorkloadSpread"], written);
  return (request) =>
    request.operation === "CREATE" || request.operation === "UPDATE" ? open(request) : allowed;
}

function isTemplated({ targetRef }: WorkloadSpread["spec"]): boolean {
  return templated.has(`${groupOf(targetRef.apiVersion ?? "")}/${targetRef.kind}`);
}

export const workloadSpreadWebhooks: readonly Webhook[] = [
  kindWebhook("validating", workloadSpread, { handler: validate }),
];
