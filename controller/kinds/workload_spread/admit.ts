/** Admission of WorkloadSpreads, both versions. Spec: workloadspread 6. */
import {
  groupOf,
  spreadPatchErrors,
  spreadTargetOf,
  validateWorkloadSpread,
  type WorkloadSpread,
  workloadSpread,
} from "../../../crds/index.ts";
import type { JsonObject } from "../../../kube/core/index.ts";
import type { ReadingClient } from "../../../kube/index.ts";
import { workloadSpreadResource } from "../../plan/resources.ts";
import { type AdmissionHandler, allowed } from "../../runtime/admission/request.ts";
import { closedGate, refusedFor, typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";
import type { FeatureGates } from "../../runtime/feature_gates.ts";
import { isPlaced } from "./match.ts";
import { Whitelist, type WhitelistedKind } from "./whitelist.ts";
import { workloadOf } from "./workload_lookup.ts";

interface WorkloadSpreadAdmissionOptions {
  readonly gates: FeatureGates;
  /** All objects of a namespace. */
  list(namespace: string): Promise<readonly WorkloadSpread[]>;
  whitelist(): Promise<readonly WhitelistedKind[]>;
  /** The workload of an object; undefined where there is none. */
  workloadOf(spread: WorkloadSpread): Promise<JsonObject | undefined>;
}

/** Kinds whose templates are tried with the patches, by `group/kind`. */
const templated: ReadonlySet<string> = new Set([
  "apps/Deployment",
  "apps/ReplicaSet",
  "apps/StatefulSet",
  "apps.kruise.io/CloneSet",
  "batch/Job",
]);

/** The handler of `/validate-apps-kruise-io-workloadspread`. */
export function validateWorkloadSpreadRequest(options: WorkloadSpreadAdmissionOptions): AdmissionHandler {
  const written = typedHandler(workloadSpread.readStored, async (next, old, { namespace }) => {
    const { metadata, spec } = next.object;
    const [others, whitelist] = await Promise.all([options.list(namespace), options.whitelist()]);
    const isPatched = spec?.targetRef && spec.subsets?.some(({ patch }) => patch) === true;
    const workload =
      spec !== undefined && isPatched && isTemplated(spec)
        ? await options.workloadOf({ metadata: { ...metadata, namespace }, spec })
        : undefined;
    const errors = validateWorkloadSpread(next.object, old?.object, {
      others,
      isListed: (group, kind) => isPlaced({ group, kind }, whitelist),
      patchErrors: (subset, path) =>
        workload === undefined ? [] : spreadPatchErrors(workload, subset, path),
    });
    return refusedFor(errors, 400);
  });
  return (request) => {
    if (request.operation !== "CREATE" && request.operation !== "UPDATE") return allowed;
    return closedGate(options.gates, "WorkloadSpread") ?? written(request);
  };
}

function isTemplated({ targetRef }: WorkloadSpread["spec"]): boolean {
  return templated.has(`${groupOf(targetRef.apiVersion ?? "")}/${targetRef.kind}`);
}

function optionsOf(
  client: ReadingClient,
  gates: FeatureGates,
  whitelist: Whitelist,
): WorkloadSpreadAdmissionOptions {
  return {
    gates,
    list: async (namespace) => (await client.list(workloadSpreadResource, { namespace })).items,
    whitelist: () => whitelist.kinds(),
    workloadOf: (spread) => workloadOf(client, spread.metadata.namespace ?? "", spreadTargetOf(spread)),
  };
}

export const workloadSpreadWebhooks: readonly Webhook[] = [
  kindWebhook("validating", workloadSpread, {
    handler: ({ client, clock, options: { gates, systemNamespace } }) =>
      validateWorkloadSpreadRequest(
        optionsOf(client, gates, new Whitelist({ client, clock, systemNamespace })),
      ),
  }),
];
