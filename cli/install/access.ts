/** What the controller and the agents may do. Least privilege: only what they all share, and what each kind declares. */
import { controllers, kinds, type PolicyRule, policyRule, readVerbs } from "../../controller/index.ts";
import { definitionName, kinds as definitions } from "../../crds/index.ts";

/** Rules of the ClusterRole `kruise-manager-role`. */
export function managerRules(): PolicyRule[] {
  return [
    policyRule("", ["pods"], [...readVerbs, "create", "delete", "patch"]),
    policyRule("", ["pods/status", "pods/resize"], ["patch"]),
    policyRule("", ["persistentvolumeclaims"], [...readVerbs, "create", "delete", "patch"]),
    policyRule("", ["nodes", "namespaces"], readVerbs),
    policyRule("", ["events"], ["create", "patch"]),
    policyRule("apps", ["controllerrevisions"], [...readVerbs, "create", "delete", "patch"]),
    ...kindRules(),
    ...controllers.flatMap(({ access }) => access),
    policyRule("apiextensions.k8s.io", ["customresourcedefinitions"], readVerbs),
    policyRule("admissionregistration.k8s.io", webhookConfigurations, readVerbs),
  ];
}

const webhookConfigurations = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];

/** A workload's own spec is patched too: CloneSet drops finished names from podsToDelete. */
function kindRules(): PolicyRule[] {
  const groups = [...new Set(definitions.map((kind) => kind.group))];
  return groups.flatMap((group) => {
    const plurals = definitions.filter((kind) => kind.group === group).map((kind) => kind.plural);
    return [
      policyRule(group, plurals, [...readVerbs, "patch"]),
      policyRule(
        group,
        plurals.map((plural) => `${plural}/status`),
        ["patch", "update"],
      ),
      policyRule(
        group,
        plurals.map((plural) => `${plural}/finalizers`),
        ["update"],
      ),
    ];
  });
}

/** `kruise-definition-guard-role`: to count what is below a definition (gate DeletionProtectionForCRDCascadingGate). Only on request. */
export const definitionGuardRules: readonly PolicyRule[] = [policyRule("*", ["*"], ["list"])];

/** `kruise-resource-distribution-role`: copies have any namespace and name (gate ResourceDistributionGate). Only on request. */
export const distributionRules: readonly PolicyRule[] = [
  policyRule("", ["secrets", "configmaps"], [...readVerbs, "create", "delete", "patch"]),
];

/** Rules of `kruise-certs-role`: the bundle goes into the named configurations and definitions only. */
export function certificateRules(): PolicyRule[] {
  const converted = definitions.filter((kind) => kind.conversion !== "None");
  return [
    policyRule(
      "admissionregistration.k8s.io",
      webhookConfigurations,
      ["update", "patch"],
      ["kruise-mutating-webhook-configuration", "kruise-validating-webhook-configuration"],
    ),
    policyRule(
      "apiextensions.k8s.io",
      ["customresourcedefinitions"],
      ["update", "patch"],
      converted.map(definitionName),
    ),
  ];
}

/** Rules in the manager's own namespace. */
export const leaderElectionRules: readonly PolicyRule[] = [
  policyRule("coordination.k8s.io", ["leases"], [...readVerbs, "create", "update", "patch", "delete"]),
  policyRule("", ["events"], ["create"]),
];

/**
 * Rules of `kruise-pull-secret-source-role`: secrets that pull jobs name lie in the jobs' namespaces. A role of its own, so
 * that its binding can be replaced by one in each namespace that may use pull secrets.
 */
export const pullSecretSourceRules: readonly PolicyRule[] = [policyRule("", ["secrets"], readVerbs)];

/** Rules in the namespace in which node agents may read secrets: copies of pull secrets for as long as they are used. */
export const pullSecretRules: readonly PolicyRule[] = [
  policyRule("", ["secrets"], ["create", "patch", "delete"]),
];

export const webhookSecretRules: readonly PolicyRule[] = [
  policyRule("", ["secrets"], [...readVerbs, "create", "update", "patch"]),
];

/**
 * Rules of `kruise-daemon-role`: what the agent's code calls, and no more. Spec: agent 9, which also grants writing
 * NodeImages themselves; only their status is the agent's.
 */
export function agentRules(): PolicyRule[] {
  return [
    policyRule("", ["nodes"], ["get"]),
    policyRule("", ["pods"], readVerbs),
    policyRule("", ["pods/status"], ["patch"]),
    policyRule("", ["events"], ["create", "patch"]),
    ...kinds.flatMap(({ resource: { group, plural }, agentVerbs }) =>
      agentVerbs === undefined
        ? []
        : [policyRule(group, [plural], agentVerbs), policyRule(group, [`${plural}/status`], ["patch"])],
    ),
  ];
}

/** Rules of `kruise-daemon-secret-role`, in the namespace of the pull secrets alone. */
export const agentSecretRules: readonly PolicyRule[] = [policyRule("", ["secrets"], ["get"])];
