/** Kinds of others that the label protects. Spec: protection, part B. */
import {
  deletionProtectionLabel,
  protectAlways,
  protectDefinition,
  protectNamespace,
  protectReplicas,
} from "./deletion_protection.ts";
import { protectedContent } from "./protected_content.ts";
import { type AdmissionHandler, allowed } from "./request.ts";
import type { AdmissionRule, Webhook, WebhookDeps } from "./webhook.ts";

/** The deletion of labelled objects outside kube-system; an outage of this program blocks nothing. */
function protection(
  name: string,
  path: string,
  rule: Omit<AdmissionRule, "operations">,
  handler: Webhook["handler"],
): Webhook {
  return {
    name: `${name}.kb.io`,
    phase: "validating",
    path,
    earlierPaths: [],
    rules: [{ ...rule, operations: ["DELETE"] }],
    failurePolicy: "Ignore",
    namespaceSelector: () => ({
      matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kube-system"] }],
    }),
    objectSelector: { matchExpressions: [{ key: deletionProtectionLabel, operator: "Exists" }] },
    handler,
  };
}

/** Refusals are counted and audited. */
function reported(kind: string, handlerOf: (deps: WebhookDeps) => AdmissionHandler): Webhook["handler"] {
  return (deps) => deps.reported(kind, isOn(deps) ? handlerOf(deps) : () => allowed);
}

/** Services and Ingresses are neither counted nor audited (B5). */
function unreported(deps: WebhookDeps): AdmissionHandler | undefined {
  return isOn(deps) ? protectAlways : undefined;
}

function isOn({ options }: WebhookDeps): boolean {
  return options.gates.ResourcesDeletionProtection;
}

function core(resource: string): Omit<AdmissionRule, "operations"> {
  return { apiGroups: [""], apiVersions: ["v1"], resources: [resource] };
}

function workload(kind: string): Webhook {
  const singular = kind.toLowerCase();
  const rule = { apiGroups: ["apps"], apiVersions: ["v1"], resources: [`${singular}s`] };
  const handler = reported(kind, () => protectReplicas);
  return protection(`vbuiltin${singular}`, `/validate-apps-${singular}`, rule, handler);
}

export const protectionWebhooks: readonly Webhook[] = [
  workload("Deployment"),
  workload("ReplicaSet"),
  workload("StatefulSet"),
  protection(
    "vcustomresourcedefinition",
    "/validate-customresourcedefinition",
    {
      apiGroups: ["apiextensions.k8s.io"],
      apiVersions: ["v1", "v1beta1"],
      resources: ["customresourcedefinitions"],
    },
    reported("CustomResourceDefinition", ({ client, options: { gates } }) =>
      protectDefinition(protectedContent(client), {
        cascading: gates.DeletionProtectionForCRDCascadingGate,
      }),
    ),
  ),
  protection(
    "vnamespace",
    "/validate-namespace",
    core("namespaces"),
    reported("Namespace", ({ client }) => protectNamespace(protectedContent(client))),
  ),
  protection("vservice", "/validate-service", core("services"), unreported),
  protection(
    "vingress",
    "/validate-ingress",
    { apiGroups: ["networking.k8s.io"], apiVersions: ["v1", "v1beta1"], resources: ["ingresses"] },
    unreported,
  ),
];
