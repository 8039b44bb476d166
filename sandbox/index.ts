/** An API server over memory, in one process: for tests, benches and trying things out. */
export {
  exitAnnotation,
  keyOfContainer,
  logAnnotation,
  longestValue as longestAnnotation,
} from "./annotations.ts";
export { type ApiServer, type ApiServerOptions, startApiServer } from "./api_server.ts";
export type { Cluster, ClusterChange, StoredObject } from "./cluster.ts";
export type {
  FaultEffect,
  FaultMatch,
  FaultRule,
  Faults,
  FaultTarget,
  OpenWatch,
  StoredWrite,
} from "./faults.ts";
export { askInProcess, type InProcessRequest, type InProcessResponse } from "./http/in_process.ts";
export { type KubernetesVersion, parseKubernetesVersion } from "./kubernetes_version.ts";
export {
  HollowNodes,
  type HollowNodesOptions,
  type NodeSink,
} from "./nodes/hollow_nodes.ts";
export {
  controlPlaneProfile,
  type NodeProfile,
  nodeObject,
  nodeStatus,
  usualPodCapacity,
} from "./nodes/node_object.ts";
export type { NodeRuntime } from "./nodes/node_runtime.ts";
export type { NodeSources } from "./nodes/pod_inputs.ts";
export { hollowLabel, type SandboxNodes } from "./nodes/sandbox_nodes.ts";
export type { PodObject, PodStatus } from "./objects/index.ts";
export { type Delay, type ProfileName, profiles, type Timing } from "./stages/profile.ts";
export { type Sandbox, type SandboxOptions, type SandboxWithNodes, startSandbox } from "./start.ts";
export { type WebhookCalls, WebhookError } from "./webhooks.ts";
export type { User } from "./writes/request.ts";
