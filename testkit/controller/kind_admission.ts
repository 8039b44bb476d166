/** For tests of the admission of any kind of the list: its handlers, with every gate on. */

import type { kinds } from "../../controller/kinds.ts";
import { writersOf } from "../../controller/plan/owners.ts";
import type { AdmissionHandler } from "../../controller/runtime/admission/request.ts";
import type { Webhook, WebhookDeps } from "../../controller/runtime/admission/webhook.ts";
import { parseFeatureGates } from "../../controller/runtime/feature_gates.ts";
import { SharedInformers } from "../../controller/runtime/informers.ts";
import { controllerOptions } from "../../controller/runtime/options.ts";
import { applyJsonPatch, isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import { nullLog, nullMetrics, seededRandom } from "../../kube/index.ts";
import { testClock } from "../kube/fake_clock.ts";
import { fakeServer } from "../kube/fake_server.ts";
import { admissionRequest } from "./admission_builder.ts";

export type ListedKind = (typeof kinds)[number];

function deps(): WebhookDeps {
  const parts = { client: fakeServer().client, clock: testClock(), random: seededRandom(1) };
  return {
    ...parts,
    writesFor: writersOf(parts.client),
    options: controllerOptions({ gates: parseFeatureGates("AllAlpha=true,AllBeta=true") }),
    settings: { namespace: "kruise-system" },
    allowPrivileged: true,
    informers: new SharedInformers({ ...parts, log: nullLog, metrics: nullMetrics, namespace: "" }),
    pods: {},
    reported: (_, handler) => handler,
    recorderOf: () => ({ event: () => undefined }),
    refused: () => undefined,
  };
}

export function withGates(gates: string): Pick<WebhookDeps, "options"> {
  return { options: controllerOptions({ gates: parseFeatureGates(gates) }) };
}

/** The handler of the one webhook of this phase. Gates are as they are by default. */
export function handlerOf(
  webhooks: readonly Webhook[],
  phase: Webhook["phase"],
  changes: Partial<WebhookDeps> = {},
): AdmissionHandler {
  const webhook = webhooks.find((each) => each.phase === phase);
  const handler = webhook?.handler({ ...deps(), options: controllerOptions(), ...changes });
  if (handler === undefined) throw new Error(`there is no ${phase} webhook`);
  return handler;
}

export function handlersOf(
  kind: ListedKind,
  phase: "mutating" | "validating",
  changes: Partial<WebhookDeps> = {},
): AdmissionHandler[] {
  const given = { ...deps(), ...changes };
  const { plural } = kind.resource;
  return kind.webhooks.flatMap((webhook) => {
    const isOfKind = webhook.rules.some(({ resources }) => resources.includes(plural));
    const handler = webhook.phase === phase && isOfKind ? webhook.handler(given) : undefined;
    return handler === undefined ? [] : [handler];
  });
}

/** As the kind's mutating webhooks leave it. */
export async function defaulted(
  kind: ListedKind,
  object: JsonObject,
  oldObject?: JsonObject,
  changes: Partial<WebhookDeps> = {},
): Promise<JsonObject> {
  let filled = object;
  for (const handler of handlersOf(kind, "mutating", changes)) {
    const answer = await handler(
      admissionRequest({ object: filled, ...(oldObject === undefined ? {} : { oldObject }) }),
    );
    const after = answer.allowed && "patch" in answer ? applyJsonPatch(filled, answer.patch ?? []) : filled;
    if (isJsonObject(after)) filled = after;
  }
  return filled;
}
