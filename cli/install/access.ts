/** What the controller may do. Least privilege: only what the carried-out kinds and the admission chain use. */
import { carriedOutKinds } from "../../crds/index.ts";

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

const read = ["get", "list", "watch"] as const;

/** Rules of the ClusterRole `kruise-manager-role`. */
export function managerRules(): PolicyRule[] {
  return [
    rule("", ["pods"], [...read, "create", "delete", "patch"]),
    rule("", ["pods/status", "pods/resize"], ["patch"]),
    rule("", ["persistentvolumeclaims"], [...read, "create", "delete", "patch"]),
    rule("", ["nodes", "namespaces"], read),
    rule("storage.k8s.io", ["storageclasses"], ["get", "list"]),
    rule("", ["events"], ["create", "patch"]),
    rule("apps", ["controllerrevisions"], [...read, "create", "delete", "patch"]),
    ...kindRules(),
    // Finished jobs go after their time to live; cron jobs make them and keep a history.
    rule("apps.kruise.io", ["broadcastjobs"], ["create", "delete"]),
    rule("batch", ["jobs"], [...read, "create", "delete"]),
    rule("apps.kruise.io", ["imagelistpulljobs"], [...read, "create", "delete"]),
    // Images are pulled ahead of updates through jobs that workloads own (gate PreDownloadImageForInPlaceUpdate).
    rule("apps.kruise.io", ["imagepulljobs"], [...read, "create", "delete"]),
    rule("apps.kruise.io", ["imagelistpulljobs"], ["delete"]),
    rule("apps.kruise.io", ["nodeimages"], ["create", "delete"]),
    // Made and removed as the annotations of StatefulSets, native ones too, ask for it.
    rule("apps.kruise.io", ["persistentpodstates"], ["create", "delete"]),
    // Workloads behind PodUnavailableBudgets; others than these are asked for their scale.
    rule("apps", ["statefulsets", "deployments", "replicasets"], read),
    rule("*", ["*/scale"], ["get"]),
    // Finished requests end with their time to live; the barriers of launch priority are ConfigMaps.
    rule("apps.kruise.io", ["containerrecreaterequests"], ["delete"]),
    rule("", ["configmaps"], ["get", "create", "patch", "delete"]),
    // Ephemeral containers join running pods; finished jobs end with their time to live.
    rule("", ["pods/ephemeralcontainers"], ["patch"]),
    rule("apps.kruise.io", ["ephemeraljobs"], ["delete"]),
    // Sidecars of finished jobs are ended by requests (gate SidecarTerminator).
    rule("apps.kruise.io", ["containerrecreaterequests"], ["create"]),
    // One for each node, for its agent.
    rule("apps.kruise.io", ["nodepodprobes"], ["create", "delete"]),
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
      converted.map((kind) => `${kind.plural}.${kind.group}`),
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
  const watched = ["nodeimages", "containerrecreaterequests", "nodepodprobes"];
  return [
    rule("", ["nodes"], ["get"]),
    rule("", ["pods"], read),
    rule("", ["pods/status"], ["patch"]),
    rule("", ["events"], ["create", "patch"]),
    rule("apps.kruise.io", watched, ["list", "watch"]),
    // A request that somebody else wrote meanwhile is read again.
    rule("apps.kruise.io", ["containerrecreaterequests"], ["get"]),
    rule(
      "apps.kruise.io",
      watched.map((plural) => `${plural}/status`),
      ["patch"],
    ),
  ];
}

/** Rules of `kruise-daemon-secret-role`, in the namespace of the pull secrets alone. */
export function agentSecretRules(): PolicyRule[] {
  return [rule("", ["secrets"], ["get"])];
}

function rule(
  group: string,
  resources: readonly string[],
  verbs: readonly string[],
  resourceNames?: readonly string[],
): PolicyRule {
  const base = { apiGroups: [group], resources, verbs };
  return resourceNames === undefined ? base : { ...base, resourceNames };
}
