/** What the controller and the agents may do. Least privilege: only what they all share, and what each kind declares. */
import { controllers, kinds, type PolicyRule, read, rule } from "../../controller/index.ts";
import { carriedOutKinds, definitionName } from "../../crds/index.ts";

/** Rules of the ClusterRole `kruise-manager-role`. */
export function managerRules(): PolicyRule[] {
  return [
    rule("", ["pods"], [...read, "create", "delete", "patch"]),
    rule("", ["pods/status", "pods/resize"], ["patch"]),
    rule("", ["persistentvolumeclaims"], [...read, "create", "delete", "patch"]),
    rule("", ["nodes", "namespaces"], read),
    rule("", ["events"], ["create", "patch"]),
    rule("apps", ["controllerrevisions"], [...read, "create", "delete", "patch"]),
    ...kindRules(),
    ...controllers.flatMap(({ access }) => access),
    rule("apiextensions.k8s.io", ["customresourcedefinitions"], read),
    rule("admissionregistration.k8s.io", webhookConfigurations, read),
  ];
}

const webhookConfigurations = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];

/** A workload's own spec is patched too: CloneSet drops finished names from podsToDelete. */
function kindRules(): PolicyRule[] {
  const groups = [...new Set(carriedOutKinds.map((kind) => kind.group))];
  return groups.flatMap((group) => {
    const plurals = carriedOutKinds.filter((kind) => kind.group === group).map((kind) => kind.plural);
    return [
      rule(group, plurals, [...read, "patch"]),
      rule(
        group,
        plurals.map((plural) => `${plural}/status`),
        ["patch", "update"],
      ),
      rule(
        group,
        plurals.map((plural) => `${plural}/finalizers`),
        ["update"],
      ),
    ];
  });
}

/**
 * Rules of `kruise-definition-guard-role`: to count what is below any definition before it may be deleted (gate
 * DeletionProtectionForCRDCascadingGate). Reading everything is much: only on request.
 */
export function definitionGuardRules(): PolicyRule[] {
  return [rule("*", ["*"], ["list"])];
}

/** Rules of `kruise-certs-role`: the bundle goes into the named configurations and definitions only. */
export function certificateRules(): PolicyRule[] {
  const converted = carriedOutKinds.filter((kind) => kind.conversion !== "None");
  return [
    rule(
      "admissionregistration.k8s.io",
      webhookConfigurations,
      ["update", "patch"],
      ["kruise-mutating-webhook-configuration", "kruise-validating-webhook-configuration"],
    ),
    rule(
      "apiextensions.k8s.io",
      ["customresourcedefinitions"],
      ["update", "patch"],
      converted.map(definitionName),
    ),
  ];
}

/** Rules in the manager's own namespace. */
export function leaderElectionRules(): PolicyRule[] {
  return [
    rule("coordination.k8s.io", ["leases"], [...read, "create", "update", "patch", "delete"]),
    rule("", ["events"], ["create"]),
  ];
}

/**
 * Rules of `kruise-pull-secret-source-role`: secrets that pull jobs name lie in the jobs' namespaces. A role of its own, so
 * that its binding can be replaced by one in each namespace that may use pull secrets.
 */
export function pullSecretSourceRules(): PolicyRule[] {
  return [rule("", ["secrets"], read)];
}

/** Rules in the namespace in which node agents may read secrets: copies of pull secrets for as long as they are used. */
export function pullSecretRules(): PolicyRule[] {
  return [rule("", ["secrets"], ["create", "patch", "delete"])];
}

export function webhookSecretRules(): PolicyRule[] {
  return [rule("", ["secrets"], [...read, "create", "update", "patch"])];
}

/**
 * Rules of `kruise-daemon-role`: what the agent's code calls, and no more. Spec: agent 9, which also grants writing
 * NodeImages themselves; only their status is the agent's.
 */
export function agentRules(): PolicyRule[] {
  return [
    rule("", ["nodes"], ["get"]),
    rule("", ["pods"], read),
    rule("", ["pods/status"], ["patch"]),
    rule("", ["events"], ["create", "patch"]),
    ...kinds.flatMap(({ resource: { group, plural }, agentVerbs }) =>
      agentVerbs === undefined
        ? []
        : [rule(group, [plural], agentVerbs), rule(group, [`${plural}/status`], ["patch"])],
    ),
  ];
}

/** Rules of `kruise-daemon-secret-role`, in the namespace of the pull secrets alone. */
export function agentSecretRules(): PolicyRule[] {
  return [rule("", ["secrets"], ["get"])];
}
