/**
 * How the reference's typed clients write the parts of this API that revisions and hashes are made of, and those that
 * may not change. The schemas do not say it: which fields are left out when they are zero (`?`), and which can be zero and
 * there all the same (`*`).
 * Grammar: kube/core/core_types.ts.
 */
import { coreStruct, type StructLookup, structsOf } from "../kube/core/index.ts";

export const wireTypes: Readonly<Record<string, string>> = {
  SubsetTemplate:
    "statefulSetTemplate?:*NativeStatefulSetTemplate advancedStatefulSetTemplate?:*StatefulSetTemplate cloneSetTemplate?:*CloneSetTemplate deploymentTemplate?:*DeploymentTemplate",
  NativeStatefulSetTemplate: "metadata?:ObjectMeta spec:StatefulSetSpec",
  DeploymentTemplate: "metadata?:ObjectMeta spec:DeploymentSpec",

  CloneSetTemplate: "metadata?:ObjectMeta spec:CloneSetSpec",
  CloneSetSpec:
    "replicas?:*int selector:*LabelSelector template:PodTemplateSpec volumeClaimTemplates?:[]PersistentVolumeClaim scaleStrategy?:CloneSetScaleStrategy updateStrategy?:CloneSetUpdateStrategy revisionHistoryLimit?:*int minReadySeconds?:int lifecycle?:*PodLifecycle progressDeadlineSeconds?:*int",
  CloneSetScaleStrategy:
    "podsToDelete?:[]string maxUnavailable?:*intstr enablePVCReuse?:bool excludePreparingDelete?:bool",
  CloneSetUpdateStrategy: "type?:string rollingUpdate?:*CloneSetRollingUpdate",
  CloneSetRollingUpdate:
    "partition?:*intstr maxUnavailable?:*intstr maxSurge?:*intstr podUpdatePolicy?:string paused?:bool priorityStrategy?:*PriorityStrategy scatterStrategy?:[]ScatterTerm inPlaceUpdateStrategy?:*InPlaceUpdateStrategy",

  StatefulSetTemplate: "metadata?:ObjectMeta spec:AdvancedStatefulSetSpec",
  AdvancedStatefulSetSpec:
    "replicas?:*int selector:*LabelSelector template:PodTemplateSpec volumeClaimTemplates?:[]PersistentVolumeClaim volumeClaimUpdateStrategy?:ClaimUpdateStrategy serviceName?:string podManagementPolicy?:string updateStrategy?:AdvancedStatefulSetUpdateStrategy revisionHistoryLimit?:*int reserveOrdinals?:[]intstr lifecycle?:*PodLifecycle scaleStrategy?:*StatefulSetScaleStrategy persistentVolumeClaimRetentionPolicy?:*ClaimRetentionPolicy ordinals?:*Ordinals",
  ClaimUpdateStrategy: "type?:string",
  ClaimRetentionPolicy: "whenDeleted?:string whenScaled?:string",
  Ordinals: "start:int",
  StatefulSetScaleStrategy: "maxUnavailable?:*intstr",
  AdvancedStatefulSetUpdateStrategy: "type?:string rollingUpdate?:*StatefulSetRollingUpdate",
  StatefulSetRollingUpdate:
    "partition?:*int maxUnavailable?:*intstr podUpdatePolicy?:string paused?:bool unorderedUpdate?:*UnorderedUpdate inPlaceUpdateStrategy?:*InPlaceUpdateStrategy minReadySeconds?:*int",
  UnorderedUpdate: "priorityStrategy?:*PriorityStrategy",

  PodLifecycle: "preDelete?:*LifecycleHook inPlaceUpdate?:*LifecycleHook preNormal?:*LifecycleHook",
  LifecycleHook: "labelsHandler?:{}string finalizersHandler?:[]string markPodNotReady?:bool",
  InPlaceUpdateStrategy:
    "gracePeriodSeconds?:int imagePreDownloadParallelism?:*intstr imagePreDownloadTimeoutSeconds?:*int imagePreDownloadMinUpdatedReadyPods?:*int",
  PriorityStrategy: "orderPriority?:[]OrderTerm weightPriority?:[]WeightTerm",
  OrderTerm: "orderedKey:string",
  WeightTerm: "weight:int matchSelector:LabelSelector",
  ScatterTerm: "key:string value:string",

  /** Of an AdvancedCronJob: templates that may not change. */
  CronJobTemplates: "jobTemplate?:*JobTemplateSpec broadcastJobTemplate?:*BroadcastJobTemplate",
  BroadcastJobTemplate: "metadata?:ObjectMeta spec?:BroadcastJobSpec",
  BroadcastJobSpec:
    "parallelism?:*intstr template:PodTemplateSpec completionPolicy?:BroadcastCompletionPolicy paused?:bool failurePolicy?:BroadcastFailurePolicy",
  BroadcastCompletionPolicy: "type?:string activeDeadlineSeconds?:*int ttlSecondsAfterFinished?:*int",
  BroadcastFailurePolicy: "type?:string restartLimit?:int",

  ContainerRecreateRequestSpec:
    "podName:string containers:[]RecreatedContainer strategy?:*RecreateStrategy activeDeadlineSeconds?:*int ttlSecondsAfterFinished?:*int",
  RecreatedContainer:
    "name:string preStop?:*RecreateHook ports?:[]ContainerPort statusContext?:*RecreatedContainerContext",
  RecreateHook: "exec?:*ExecAction httpGet?:*HTTPGetAction tcpSocket?:*TCPSocketAction",
  RecreatedContainerContext: "containerID:string restartCount:int",
  RecreateStrategy:
    "failurePolicy?:string orderedRecreate?:bool forceRecreate?:bool terminationGracePeriodSeconds?:*int unreadyGracePeriodSeconds?:*int minStartedSeconds?:int",

  /** Of an ImageListPullJob: what all of its jobs have. */
  ImagePullTemplate:
    "pullSecrets?:[]string selector?:*NodeNamesOrLabels podSelector?:*LabelSelector parallelism?:*intstr pullPolicy?:*ImagePullLimits completionPolicy:ImagePullCompletionPolicy sandboxConfig?:*ImagePullSandbox imagePullPolicy?:string",
  NodeNamesOrLabels: "...LabelSelector names?:[]string",
  ImagePullLimits: "timeoutSeconds?:*int backoffLimit?:*int",
  ImagePullCompletionPolicy: "type?:string activeDeadlineSeconds?:*int ttlSecondsAfterFinished?:*int",
  ImagePullSandbox: "labels?:{}string annotations?:{}string",

  /** What new pods get of a SidecarSet. */
  RevisedSidecars:
    "containers?:[]SidecarContainer imagePullSecrets?:[]LocalObjectReference initContainers?:[]SidecarContainer patchPodMetadata?:[]PatchPodMetadata volumes?:[]Volume",
  PatchPodMetadata: "annotations?:{}string patchPolicy?:string",
  SidecarContainer:
    "...Container podInjectPolicy?:string upgradeStrategy?:UpgradeStrategy shareVolumePolicy?:ShareVolumePolicy shareVolumeDevicePolicy?:*ShareVolumePolicy transferEnv?:[]TransferEnvVar resourcesPolicy?:*ResourcesPolicy",
  UpgradeStrategy: "upgradeType?:string hotUpgradeEmptyImage?:string",
  ShareVolumePolicy: "type?:string",
  TransferEnvVar:
    "sourceContainerName?:string sourceContainerNameFrom?:*SourceContainerName envName?:string envNames?:[]string",
  SourceContainerName: "fieldRef?:*ObjectFieldSelector",
  ResourcesPolicy:
    "targetContainersMode:string targetContainersNameRegex?:string resourcesExpr:ResourceExpressions",
  ResourceExpressions: "limits?:*ResourceExpression requests?:*ResourceExpression",
  ResourceExpression: "cpu?:string memory?:string",
};

/** These types, and the core types that they hold. */
export const wireStruct: StructLookup = structsOf(wireTypes, coreStruct);
