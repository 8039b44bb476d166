/** Admission and conversion of one process: which webhooks it answers, by the gates. Spec: platform 4.1, rule 2. */
import { kinds as definitions } from "../crds/index.ts";
import { type Client, createEvents, type Log, nullMetrics } from "../kube/index.ts";
import { controllers, kinds } from "./kinds.ts";
import { writersOf } from "./plan/owners.ts";
import { podHandlers } from "./pod_webhook/handlers.ts";
import { podWebhooks } from "./pod_webhook/webhooks.ts";
import { reportingRefusals } from "./runtime/admission/deletion_protection.ts";
import { protectionWebhooks } from "./runtime/admission/protection_webhooks.ts";
import { deletionRefusal, type Refusal } from "./runtime/admission/refusals.ts";
import type { AdmissionHandler } from "./runtime/admission/request.ts";
import type { AdmissionMetrics } from "./runtime/admission/server.ts";
import type { WebhookSettings } from "./runtime/admission/settings.ts";
import { handlersByPath, type Webhook, type WebhookDeps } from "./runtime/admission/webhook.ts";
import { createWebhooks, type Webhooks } from "./runtime/admission/webhooks.ts";
import { SharedInformers, type SharedWatches } from "./runtime/informers.ts";

export interface HandlersDeps extends Pick<WebhookDeps, "clock" | "random" | "options" | "allowPrivileged"> {
  client: Client;
  log: Log;
  settings: Pick<WebhookSettings, "namespace">;
  /** Those of the process; default: watches of its own. */
  watches?: SharedWatches | undefined;
  /** Beside those of reviews: what one step of the admission of a new pod took. */
  podStepTook(step: string, tookMs: number): void;
  /** Counts and audits a refusal. Must not throw. */
  refused(refusal: Refusal): void;
}

export interface AdmissionDeps extends HandlersDeps {
  metrics: AdmissionMetrics;
  settings: WebhookSettings;
  /** Whether this replica leads from the start; see Webhooks. */
  leads: boolean;
}

export type Admission = Webhooks;

const podAdmissions = controllers.flatMap(({ podAdmission }) => podAdmission ?? []);

/** All webhooks of this program. */
export const admissionWebhooks: readonly Webhook[] = [
  ...podWebhooks(podAdmissions.flatMap(({ guard }) => guard ?? [])),
  ...kinds.flatMap((kind) => kind.webhooks),
  ...protectionWebhooks,
];

export interface Handlers {
  /** By path. */
  readonly handlers: ReadonlyMap<string, AdmissionHandler>;
  /** Resolves once what they read is there. */
  synced(): Promise<void>;
  stop(): Promise<void>;
}

/** What answers reviews, without what serves it. */
export function admissionHandlers(deps: HandlersDeps): Handlers {
  const { client, clock, random, log, options } = deps;
  const { namespace } = options;
  const parts = { client, clock, random, log, metrics: nullMetrics, namespace };
  const informers = new SharedInformers(parts, deps.watches);
  const writesFor = writersOf(client);
  const events = createEvents({ client, clock, random, log, metrics: nullMetrics });
  const recorderOf = (controller: string) => events.from(controller);
  const reported: WebhookDeps["reported"] = (kind, handler) =>
    reportingRefusals(handler, (request) => deps.refused(deletionRefusal(kind, request)));
  const shared = { ...deps, writesFor, informers, recorderOf };
  const pods = podHandlers(podAdmissions, { ...shared, stepTook: deps.podStepTook });
  const handlers = handlersByPath(admissionWebhooks, { ...shared, pods, reported });
  informers.start();
  return {
    handlers,
    synced: () => informers.synced(),
    async stop() {
      informers.stop();
      await events.stop();
    },
  };
}

export function admission(deps: AdmissionDeps): Admission {
  const { client, clock, random, log, metrics, settings, leads } = deps;
  const { handlers, synced, stop } = admissionHandlers(deps);
  const webhooks = createWebhooks({
    settings,
    client,
    webhooks: admissionWebhooks,
    handlers,
    kinds: definitions,
    clock,
    random,
    log,
    metrics,
    leads,
  });
  return {
    ...webhooks,
    async start(timeoutMs) {
      // Objects of another version are listed through our own conversion: that must be served meanwhile.
      const [bound] = await Promise.all([webhooks.start(timeoutMs), synced()]);
      return bound;
    },
    async stop() {
      await webhooks.stop();
      await stop();
    },
  };
}
