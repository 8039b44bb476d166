/** A webhook of this program: what the API server is configured to ask about, and what answers. Spec: platform 4.1, 4.4. */
import type { KindDefinition } from "../../../crds/index.ts";
import type { LabelSelector } from "../../../kube/core/index.ts";
import type { PodAdmissionDeps, PodHandlers } from "./pod_admission.ts";
import type { AdmissionHandler } from "./request.ts";
import type { WebhookSettings } from "./settings.ts";

export interface AdmissionRule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly operations: readonly string[];
  readonly resources: readonly string[];
}

export interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

/** What handlers are made with. */
export interface WebhookDeps extends PodAdmissionDeps {
  /** Of the webhooks themselves: the namespace of this program. */
  settings: Pick<WebhookSettings, "namespace">;
  /** Flag --allow-privileged. */
  allowPrivileged: boolean;
  pods: PodHandlers;
  /** Reports every deletion of the kind that the handler refuses. */
  reported(kind: string, handler: AdmissionHandler): AdmissionHandler;
}

export interface Webhook {
  /** `<name>.kb.io` */
  readonly name: string;
  readonly phase: "mutating" | "validating";
  readonly path: string;
  /** Paths under which earlier releases registered the same handler; served, but not written into configurations. */
  readonly earlierPaths: readonly string[];
  readonly rules: readonly AdmissionRule[];
  readonly failurePolicy: "Fail" | "Ignore";
  /** Namespaces that the webhook sees; `namespace` is that of this program, whose pods must start without it. */
  readonly namespaceSelector?: (namespace: string) => LabelSelector;
  readonly objectSelector?: LabelSelector;
  /** What the API server itself finds out (CEL), so that it need not ask; servers before 1.28 ask always. */
  readonly matchConditions?: readonly MatchCondition[];
  /** Undefined where the gates leave nothing to answer: the webhook is then neither served nor registered. */
  readonly handler: (deps: WebhookDeps) => AdmissionHandler | undefined;
}

interface KindWebhook extends Pick<Webhook, "handler"> {
  /** Default: the kind's singular. */
  readonly name?: string;
  /** Default: by phase, group and singular. */
  readonly path?: string;
  /** Versions that had a path each in earlier releases; default: v1alpha1, where it is not the only one. */
  readonly earlierVersions?: readonly string[];
  /** Default: CREATE and UPDATE. */
  readonly operations?: readonly string[];
}

/** A webhook about the objects of one kind, in all versions. Without it nothing is stored: it fails closed. */
export function kindWebhook(
  phase: Webhook["phase"],
  { group, singular, plural, versions }: KindDefinition,
  options: KindWebhook,
): Webhook {
  const prefix = `/${phase === "mutating" ? "mutate" : "validate"}-${group.replaceAll(".", "-")}-`;
  const { earlierVersions = versions.length > 1 ? ["v1alpha1"] : [] } = options;
  return {
    name: `${phase === "mutating" ? "m" : "v"}${options.name ?? singular}.kb.io`,
    phase,
    path: options.path ?? `${prefix}${singular}`,
    earlierPaths: earlierVersions.map((version) => `${prefix}${version}-${singular}`),
    rules: [
      {
        apiGroups: [group],
        apiVersions: versions.map(({ name }) => name),
        operations: options.operations ?? ["CREATE", "UPDATE"],
        resources: [plural],
      },
    ],
    failurePolicy: "Fail",
    handler: options.handler,
  };
}

/** Handlers on their paths, those of earlier releases included. */
export function handlersByPath(
  webhooks: readonly Webhook[],
  deps: WebhookDeps,
): Map<string, AdmissionHandler> {
  const byPath = new Map<string, AdmissionHandler>();
  for (const { handler, path, earlierPaths } of webhooks) {
    const answer = handler(deps);
    if (answer === undefined) continue;
    for (const each of [path, ...earlierPaths]) byPath.set(each, answer);
  }
  return byPath;
}
