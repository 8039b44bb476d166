/** Roles for people who use this program. Least privilege: what its commands ask for, as docs/rights.md lists it. */
import { kinds, type PolicyRule, policyRule, readVerbs } from "../../controller/index.ts";
import { kinds as definitions, type KindDefinition } from "../../crds/index.ts";
import type { AnyObject } from "../fields.ts";
import { object } from "./objects.ts";

/** Built-in workloads, which the rollout commands know as well. */
const builtinWorkloads = ["deployments", "statefulsets", "daemonsets"];
/** What an operator starts and takes away again. */
const startedKinds: ReadonlySet<string> = new Set([
  "ContainerRecreateRequest",
  "EphemeralJob",
  "ImagePullJob",
  "ImageListPullJob",
  "BroadcastJob",
]);

export function peopleRoles(): AnyObject[] {
  return [
    clusterRole("kruise-viewer-role", viewerRules()),
    clusterRole("kruise-operator-role", [...viewerRules(), ...operatorRules()]),
  ];
}

const clusterRole = (name: string, rules: readonly PolicyRule[]): AnyObject =>
  object("rbac.authorization.k8s.io/v1", "ClusterRole", { name }, { rules });

/** Neither Secrets nor other ConfigMaps: the copies of a ResourceDistribution are for who may read those. */
export function viewerRules(): PolicyRule[] {
  return [
    ...byGroup(({ plural }) => [plural], readVerbs),
    policyRule(
      "",
      ["pods", "nodes", "namespaces", "events", "persistentvolumeclaims", "services"],
      readVerbs,
    ),
    policyRule("", ["pods/log"], ["get"]),
    policyRule("apps", [...builtinWorkloads, "replicasets", "controllerrevisions"], readVerbs),
    policyRule("batch", ["jobs", "cronjobs"], readVerbs),
    policyRule("coordination.k8s.io", ["leases"], readVerbs),
    // Kinds of workloads that WorkloadSpreads know beside those of this API.
    policyRule("", ["configmaps"], ["get"], ["kruise-configuration"]),
    // It tells the namespace of the controller.
    policyRule(
      "admissionregistration.k8s.io",
      ["mutatingwebhookconfigurations"],
      ["get"],
      ["kruise-mutating-webhook-configuration"],
    ),
  ];
}

/** What an operator may do beside reading. What is made for each node belongs to the controller. */
export function operatorRules(): PolicyRule[] {
  const perNode = new Set(kinds.filter((kind) => kind.perNode).map(({ resource }) => resource.kind));
  return [
    ...byGroup(({ kind, plural }) => (perNode.has(kind) ? [] : [plural]), ["patch"]),
    ...byGroup((kind) => (hasScale(kind) ? [`${kind.plural}/scale`] : []), ["get", "patch"]),
    ...byGroup(({ kind, plural }) => (startedKinds.has(kind) ? [plural] : []), ["create", "delete"]),
    policyRule("apps", builtinWorkloads, ["patch"]),
    policyRule("apps", ["deployments/scale", "statefulsets/scale"], ["get", "patch"]),
    policyRule("batch", ["jobs"], ["create", "delete"]),
  ];
}

const hasScale = ({ versions }: KindDefinition): boolean => versions.some(({ scale }) => scale !== undefined);

type Definition = (typeof definitions)[number];

/** A rule for each group that has such resources. */
function byGroup(resourcesOf: (kind: Definition) => string[], verbs: readonly string[]): PolicyRule[] {
  const groups = [...new Set(definitions.map(({ group }) => group))];
  return groups.flatMap((group) => {
    const resources = definitions.filter((kind) => kind.group === group).flatMap(resourcesOf);
    return resources.length === 0 ? [] : [policyRule(group, resources, verbs)];
  });
}
