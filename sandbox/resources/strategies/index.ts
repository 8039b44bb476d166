/** The rules of each built-in kind, by resource name. */
import { dns1035LabelErrors, dnsLabelErrors, dnsSubdomainErrors } from "../../../kube/core/index.ts";
import type { StoredObject } from "../../cluster.ts";
import type { Strategy } from "../resource.ts";
import { pathSegmentErrors } from "./names.ts";
import { namespaceRules } from "./namespaces.ts";
import { networkingRules } from "./networking.ts";
import { podRules } from "./pods.ts";
import { roleRules } from "./roles.ts";
import { serviceRules } from "./services.ts";
import { storageRules } from "./volumes.ts";
import { webhookRules } from "./webhooks.ts";
import { workloadRules } from "./workloads.ts";

type Rules = Partial<Strategy>;

const specOf = (object: StoredObject): unknown => object["spec"];
/** Everything but metadata and status, for kinds whose content is not under `spec`. */
const contentOf = (object: StoredObject): unknown => {
  const { metadata: _metadata, status: _status, apiVersion: _apiVersion, kind: _kind, ...content } = object;
  return content;
};

const withSpecGeneration: readonly string[] = [
  "pods",
  "replicationcontrollers",
  "deployments.apps",
  "replicasets.apps",
  "statefulsets.apps",
  "daemonsets.apps",
  "jobs.batch",
  "cronjobs.batch",
  "poddisruptionbudgets.policy",
  "ingresses.networking.k8s.io",
  "networkpolicies.networking.k8s.io",
  "ingressclasses.networking.k8s.io",
  "customresourcedefinitions.apiextensions.k8s.io",
];
const withContentGeneration: readonly string[] = [
  "endpointslices.discovery.k8s.io",
  "mutatingwebhookconfigurations.admissionregistration.k8s.io",
  "validatingwebhookconfigurations.admissionregistration.k8s.io",
  "priorityclasses.scheduling.k8s.io",
];
const generations: ReadonlyMap<string, (object: StoredObject) => unknown> = new Map([
  ...withSpecGeneration.map((name) => [name, specOf] as const),
  ...withContentGeneration.map((name) => [name, contentOf] as const),
]);

const pathSegmentKinds = /^(cluster)?role(binding)?s\.rbac\.authorization\.k8s\.io$/;
const orphaning: Readonly<Record<string, string>> = {
  replicationcontrollers: "",
  "jobs.batch":
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
};

function nameRule(resource: string): (name: string) => readonly string[] {
  if (resource === "namespaces") return dnsLabelErrors;
  if (resource === "services") return dns1035LabelErrors;
  if (pathSegmentKinds.test(resource)) return pathSegmentErrors;
  return dnsSubdomainErrors;
}

const rules: Readonly<Record<string, Rules>> = {
  ...podRules,
  ...namespaceRules,
  ...serviceRules,
  ...storageRules,
  ...networkingRules,
  ...workloadRules,
  ...webhookRules,
  ...roleRules,
};

/** `hasStatus`: its status has a subresource. */
export function strategyOf(resource: string, hasStatus: boolean): Strategy {
  const generationOf = generations.get(resource);
  const orphansByDefault = orphaning[resource];
  return {
    hasStatus,
    statusMetadata: "all",
    nameErrors: nameRule(resource),
    ...(generationOf === undefined ? {} : { generationOf }),
    ...(orphansByDefault === undefined ? {} : { orphansByDefault }),
    ...rules[resource],
  };
}
