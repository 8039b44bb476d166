/** The webhooks of this program: what the API server is told to ask about. Spec: platform 4.4. */
import { oldRelatedBudgetAnnotation, relatedBudgetAnnotation } from "../../crds/index.ts";
import type { LabelSelector } from "../../kube/core/index.ts";
import { deletionProtectionLabel } from "./deletion_protection.ts";

interface AdmissionRule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly operations: readonly string[];
  readonly resources: readonly string[];
}

export interface AdmissionEntry {
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
}

export interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

/**
 * The guard lets every pod go that had neither annotation before the request, whatever the request makes of it, so
 * nothing is lost by not asking. A pod that a budget selects gets them at its creation or from the budget's controller.
 * Evictions show no pod and are always asked about. Spec: protection A4, rules 12e, 23, 24.
 */
const tiedToBudget: MatchCondition = {
  name: "tied-to-a-budget",
  expression: `oldObject != null && has(oldObject.metadata.annotations) && (${[
    relatedBudgetAnnotation,
    oldRelatedBudgetAnnotation,
  ]
    .map((annotation) => `"${annotation}" in oldObject.metadata.annotations`)
    .join(" || ")})`,
};

function workloadRules(plural: string, operations: readonly string[]): AdmissionRule[] {
  return [
    { apiGroups: ["apps.kruise.io"], apiVersions: ["v1alpha1", "v1beta1"], operations, resources: [plural] },
  ];
}

/** Kinds that have no other version. */
function alphaRules(plural: string, operations: readonly string[]): AdmissionRule[] {
  return [{ apiGroups: ["apps.kruise.io"], apiVersions: ["v1alpha1"], operations, resources: [plural] }];
}

/** Everything but kube-system, the namespace of this program, and namespaces labelled as a control plane's. Spec: pod-webhook 1. */
function ordinaryNamespaces(namespace: string): LabelSelector {
  return {
    matchExpressions: [
      { key: "control-plane", operator: "DoesNotExist" },
      { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kube-system", namespace] },
    ],
  };
}

/** The deletion of labelled objects outside kube-system; an outage of this program blocks nothing. */
function protection(name: string, path: string, rule: Omit<AdmissionRule, "operations">): AdmissionEntry {
  return {
    name,
    phase: "validating",
    path,
    earlierPaths: [],
    rules: [{ ...rule, operations: ["DELETE"] }],
    failurePolicy: "Ignore",
    namespaceSelector: () => ({
      matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kube-system"] }],
    }),
    objectSelector: { matchExpressions: [{ key: deletionProtectionLabel, operator: "Exists" }] },
  };
}

function core(...resources: string[]): Omit<AdmissionRule, "operations"> {
  return { apiGroups: [""], apiVersions: ["v1"], resources };
}

function nativeApps(resource: string): Omit<AdmissionRule, "operations"> {
  return { apiGroups: ["apps"], apiVersions: ["v1"], resources: [resource] };
}

export const admissionEntries = {
  mutatePod: {
    name: "mpod.kb.io",
    phase: "mutating",
    path: "/mutate-pod",
    earlierPaths: [],
    rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
    failurePolicy: "Fail",
    namespaceSelector: ordinaryNamespaces,
  },
  validatePod: {
    name: "vpod.kb.io",
    phase: "validating",
    path: "/validate-pod",
    earlierPaths: [],
    rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE", "DELETE"], resources: ["pods"] }],
    failurePolicy: "Fail",
    namespaceSelector: ordinaryNamespaces,
    matchConditions: [tiedToBudget],
  },
  validatePodEviction: {
    name: "vpodeviction.kb.io",
    phase: "validating",
    path: "/validate-pod",
    earlierPaths: [],
    rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods/eviction"] }],
    failurePolicy: "Fail",
    namespaceSelector: ordinaryNamespaces,
  },
  mutateCloneSet: {
    name: "mcloneset.kb.io",
    phase: "mutating",
    path: "/mutate-apps-kruise-io-cloneset",
    earlierPaths: ["/mutate-apps-kruise-io-v1alpha1-cloneset"],
    rules: workloadRules("clonesets", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  validateCloneSet: {
    name: "vcloneset.kb.io",
    phase: "validating",
    path: "/validate-apps-kruise-io-cloneset",
    earlierPaths: ["/validate-apps-kruise-io-v1alpha1-cloneset"],
    rules: workloadRules("clonesets", ["CREATE", "UPDATE", "DELETE"]),
    failurePolicy: "Fail",
  },
  mutateStatefulSet: {
    name: "mstatefulset.kb.io",
    phase: "mutating",
    path: "/mutate-apps-kruise-io-statefulset",
    earlierPaths: [
      "/mutate-apps-kruise-io-v1alpha1-statefulset",
      "/mutate-apps-kruise-io-v1beta1-statefulset",
    ],
    rules: workloadRules("statefulsets", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  validateStatefulSet: {
    name: "vstatefulset.kb.io",
    phase: "validating",
    path: "/validate-apps-kruise-io-statefulset",
    earlierPaths: [
      "/validate-apps-kruise-io-v1alpha1-statefulset",
      "/validate-apps-kruise-io-v1beta1-statefulset",
    ],
    rules: workloadRules("statefulsets", ["CREATE", "UPDATE", "DELETE"]),
    failurePolicy: "Fail",
  },
  validatePersistentPodState: {
    name: "vpersistentpodstate.kb.io",
    phase: "validating",
    path: "/validate-apps-kruise-io-persistentpodstate",
    earlierPaths: ["/validate-apps-kruise-io-v1alpha1-persistentpodstate"],
    rules: workloadRules("persistentpodstates", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  validateEphemeralJob: {
    name: "vephemeraljobs.kb.io",
    phase: "validating",
    path: "/validate-apps-kruise-io-v1alpha1-ephemeraljob",
    earlierPaths: [],
    rules: alphaRules("ephemeraljobs", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  validatePodProbeMarker: {
    name: "vpodprobemarker.kb.io",
    phase: "validating",
    path: "/validate-apps-kruise-io-podprobemarker",
    earlierPaths: [],
    rules: alphaRules("podprobemarkers", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  mutateContainerRecreateRequest: {
    name: "mcontainerrecreaterequest.kb.io",
    phase: "mutating",
    path: "/mutate-apps-kruise-io-containerrecreaterequest",
    earlierPaths: ["/mutate-apps-kruise-io-v1alpha1-containerrecreaterequest"],
    rules: workloadRules("containerrecreaterequests", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  mutateAdvancedCronJob: {
    name: "madvancedcronjob.kb.io",
    phase: "mutating",
    path: "/mutate-apps-kruise-io-advancedcronjob",
    earlierPaths: ["/mutate-apps-kruise-io-v1alpha1-advancedcronjob"],
    rules: workloadRules("advancedcronjobs", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  validateAdvancedCronJob: {
    name: "vadvancedcronjob.kb.io",
    phase: "validating",
    path: "/validate-apps-kruise-io-advancedcronjob",
    earlierPaths: ["/validate-apps-kruise-io-v1alpha1-advancedcronjob"],
    rules: workloadRules("advancedcronjobs", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  mutateBroadcastJob: {
    name: "mbroadcastjob.kb.io",
    phase: "mutating",
    path: "/mutate-apps-kruise-io-broadcastjob",
    earlierPaths: ["/mutate-apps-kruise-io-v1alpha1-broadcastjob"],
    rules: workloadRules("broadcastjobs", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  validateBroadcastJob: {
    name: "vbroadcastjob.kb.io",
    phase: "validating",
    path: "/validate-apps-kruise-io-broadcastjob",
    earlierPaths: ["/validate-apps-kruise-io-v1alpha1-broadcastjob"],
    rules: workloadRules("broadcastjobs", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  validatePodUnavailableBudget: {
    name: "vpodunavailablebudget.kb.io",
    phase: "validating",
    path: "/validate-policy-kruise-io-podunavailablebudget",
    earlierPaths: [],
    rules: [
      {
        apiGroups: ["policy.kruise.io"],
        apiVersions: ["v1alpha1", "v1beta1"],
        operations: ["CREATE", "UPDATE"],
        resources: ["podunavailablebudgets"],
      },
    ],
    failurePolicy: "Fail",
  },
  protectDeployment: protection(
    "vbuiltindeployment.kb.io",
    "/validate-apps-deployment",
    nativeApps("deployments"),
  ),
  protectReplicaSet: protection(
    "vbuiltinreplicaset.kb.io",
    "/validate-apps-replicaset",
    nativeApps("replicasets"),
  ),
  protectNativeStatefulSet: protection(
    "vbuiltinstatefulset.kb.io",
    "/validate-apps-statefulset",
    nativeApps("statefulsets"),
  ),
  protectDefinition: protection("vcustomresourcedefinition.kb.io", "/validate-customresourcedefinition", {
    apiGroups: ["apiextensions.k8s.io"],
    apiVersions: ["v1", "v1beta1"],
    resources: ["customresourcedefinitions"],
  }),
  protectNamespace: protection("vnamespace.kb.io", "/validate-namespace", core("namespaces")),
  protectService: protection("vservice.kb.io", "/validate-service", core("services")),
  protectIngress: protection("vingress.kb.io", "/validate-ingress", {
    apiGroups: ["networking.k8s.io"],
    apiVersions: ["v1", "v1beta1"],
    resources: ["ingresses"],
  }),
  mutateDaemonSet: {
    name: "mdaemonset.kb.io",
    phase: "mutating",
    path: "/mutate-apps-kruise-io-daemonset",
    earlierPaths: ["/mutate-apps-kruise-io-v1alpha1-daemonset"],
    rules: workloadRules("daemonsets", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  validateDaemonSet: {
    name: "vdaemonset.kb.io",
    phase: "validating",
    path: "/validate-apps-kruise-io-daemonset",
    earlierPaths: ["/validate-apps-kruise-io-v1alpha1-daemonset"],
    rules: workloadRules("daemonsets", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  mutateImagePullJob: {
    name: "mimagepulljob-v1beta1.kb.io",
    phase: "mutating",
    path: "/mutate-apps-kruise-io-imagepulljob",
    earlierPaths: ["/mutate-apps-kruise-io-v1alpha1-imagepulljob"],
    rules: workloadRules("imagepulljobs", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  validateImagePullJob: {
    name: "vimagepulljob-v1beta1.kb.io",
    phase: "validating",
    path: "/validate-apps-kruise-io-imagepulljob",
    earlierPaths: ["/validate-apps-kruise-io-v1alpha1-imagepulljob"],
    rules: workloadRules("imagepulljobs", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  mutateImageListPullJob: {
    name: "mimagelistpulljob-v1beta1.kb.io",
    phase: "mutating",
    path: "/mutate-apps-kruise-io-imagelistpulljob",
    earlierPaths: ["/mutate-apps-kruise-io-v1alpha1-imagelistpulljob"],
    rules: workloadRules("imagelistpulljobs", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  validateImageListPullJob: {
    name: "vimagelistpulljob-v1beta1.kb.io",
    phase: "validating",
    path: "/validate-apps-kruise-io-imagelistpulljob",
    earlierPaths: ["/validate-apps-kruise-io-v1alpha1-imagelistpulljob"],
    rules: workloadRules("imagelistpulljobs", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  mutateNodeImage: {
    name: "mnodeimage.kb.io",
    phase: "mutating",
    path: "/mutate-apps-kruise-io-nodeimage",
    earlierPaths: ["/mutate-apps-kruise-io-v1alpha1-nodeimage"],
    rules: workloadRules("nodeimages", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
  validateNodeImage: {
    name: "vnodeimage.kb.io",
    phase: "validating",
    path: "/validate-apps-kruise-io-nodeimage",
    earlierPaths: ["/validate-apps-kruise-io-v1alpha1-nodeimage"],
    rules: workloadRules("nodeimages", ["CREATE", "UPDATE"]),
    failurePolicy: "Fail",
  },
} as const satisfies Record<string, AdmissionEntry>;

export type AdmissionEntryName = keyof typeof admissionEntries;
