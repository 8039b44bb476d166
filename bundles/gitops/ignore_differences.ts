/**
 * What Argo CD has to leave out when it compares an object with Git, as jq paths, by group and kind. Argo CD compares lists as a
 * whole, so a default that admission fills in inside a list is a difference. Each path means the default value alone: any other
 * value is still compared.
 */

const equals = (value: string | number): string => `select(. == ${JSON.stringify(value)})`;

const probes = "(.livenessProbe, .readinessProbe, .startupProbe)";
const handlers = "(.lifecycle.postStart, .lifecycle.preStop)";

/** Defaults inside each container, by where they are. */
const containerDefaults: readonly (readonly [path: string, value: string | number])[] = [
  [".terminationMessagePath", "/dev/termination-log"],
  [".terminationMessagePolicy", "File"],
  [".ports[]?.protocol", "TCP"],
  [".env[]?.valueFrom.fieldRef.apiVersion", "v1"],
  [`${probes}.timeoutSeconds`, 1],
  [`${probes}.periodSeconds`, 10],
  [`${probes}.successThreshold`, 1],
  [`${probes}.failureThreshold`, 3],
  [`${probes}.grpc.service`, ""],
  [`(${probes}, ${handlers}).httpGet.path`, "/"],
  [`(${probes}, ${handlers}).httpGet.scheme`, "HTTP"],
];

const volumeDefaults: readonly (readonly [path: string, value: string | number])[] = [
  ["(.configMap, .secret, .downwardAPI, .projected).defaultMode", 420],
  ["(.downwardAPI, .projected.sources[]?.downwardAPI).items[]?.fieldRef.apiVersion", "v1"],
  [".projected.sources[]?.serviceAccountToken.expirationSeconds", 3600],
  [".hostPath.type", ""],
  [".ephemeral.volumeClaimTemplate.spec.volumeMode", "Filesystem"],
];

/** `pod`: path of a pod spec, or of what holds containers and volumes as one does. */
function podDefaults(pod: string, pullPolicy: "Always" | "IfNotPresent"): string[] {
  return [
    ...containerDefaults.map(
      ([path, value]) => `${pod} | (.containers, .initContainers)[]? | ${path} | ${equals(value)}`,
    ),
    // By the image's tag where it is not Always; an image without a tag, or with latest, has to say it in Git.
    `${pod}.containers[]?.imagePullPolicy | ${equals(pullPolicy)}`,
    `${pod}.initContainers[]?.imagePullPolicy | ${equals("IfNotPresent")}`,
    ...volumeDefaults.map(([path, value]) => `${pod}.volumes[]? | ${path} | ${equals(value)}`),
    `${pod}.volumes[]? | select(keys == ["emptyDir", "name"]) | .emptyDir | select(. == {})`,
  ];
}

const templateDefaults = (holder: string): string[] => podDefaults(`${holder}.template.spec`, "Always");

/** Admission writes the phase Pending there. */
const claimStatus = (holder: string): string => `${holder}.volumeClaimTemplates[]?.status`;

/** What the action restart, or `refit rollout restart`, writes; a list that held nothing else goes, too. */
function restarts(holder: string): string[] {
  const containers = `${holder}.template.spec.containers[]?`;
  return [`${containers}.env[]? | select(.name == "RESTARTED_AT")`, `${containers}.env | select(. == [])`];
}

const subsetTemplates = ["cloneSetTemplate", "advancedStatefulSetTemplate"] as const;
const sidecar = ".spec | (.containers, .initContainers)[]?";

export const ignoredDifferences: Readonly<Record<string, readonly string[]>> = {
  "apps.kruise.io_CloneSet": [
    ...restarts(".spec"),
    ...templateDefaults(".spec"),
    claimStatus(".spec"),
    // The controller takes away the names of pods that are gone.
    ".spec.scaleStrategy.podsToDelete",
  ],
  "apps.kruise.io_StatefulSet": [...restarts(".spec"), ...templateDefaults(".spec"), claimStatus(".spec")],
  "apps.kruise.io_DaemonSet": restarts(".spec"),
  "apps.kruise.io_UnitedDeployment": [
    ...subsetTemplates.flatMap((name) => restarts(`.spec.template.${name}.spec`)),
    ...templateDefaults(".spec.template.statefulSetTemplate.spec"),
    claimStatus(".spec.template.statefulSetTemplate.spec"),
    `.spec.topology.subsets[]?.minReplicas | ${equals(0)}`,
  ],
  "apps.kruise.io_BroadcastJob": templateDefaults(".spec"),
  "apps.kruise.io_AdvancedCronJob": [
    ...templateDefaults(".spec.template.jobTemplate.spec"),
    ...templateDefaults(".spec.template.broadcastJobTemplate.spec"),
  ],
  "apps.kruise.io_SidecarSet": [
    ...podDefaults(".spec", "IfNotPresent"),
    `.spec.containers[]?.podInjectPolicy | ${equals("BeforeAppContainer")}`,
    `.spec.initContainers[]?.podInjectPolicy | ${equals("AfterAppContainer")}`,
    `${sidecar} | .upgradeStrategy.upgradeType | ${equals("ColdUpgrade")}`,
    `${sidecar} | .upgradeStrategy | select(. == {})`,
    `${sidecar} | .shareVolumePolicy.type | ${equals("disabled")}`,
    `${sidecar} | .shareVolumePolicy | select(. == {})`,
    `${sidecar} | .transferEnv[]?.sourceContainerNameFrom.fieldRef.apiVersion | ${equals("v1")}`,
    `${sidecar} | .resourcesPolicy.targetContainersNameRegex | ${equals(".*")}`,
    `.spec.patchPodMetadata[]?.patchPolicy | ${equals("Retain")}`,
  ],
  // The webhook writes down what the pod is like.
  "apps.kruise.io_ContainerRecreateRequest": [".spec.containers[]? | (.ports, .preStop, .statusContext)"],
};
