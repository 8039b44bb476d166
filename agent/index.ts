/** The node agent. */

export { ContainerRestarter } from "./containers/restarter.ts";
export type { AgentContext, Feature } from "./context.ts";
export {
  type CallFailure,
  type CarriedCall,
  type CriClient,
  type CriTransport,
  createCriClient,
  criClientOver,
} from "./cri/client.ts";
export { AgentError, type AgentErrorCode, isAgentError } from "./errors.ts";
export { startImages } from "./images/feature.ts";
export { type AgentRuntime, agentEnvironment, agentProgram } from "./launch.ts";
export { type AgentMetrics, createAgentMetrics } from "./metrics.ts";
export { denoPermissions, type PermissionSettings } from "./permissions.ts";
export { PodWatch } from "./pod_watch.ts";
export { runAgentProcess } from "./process.ts";
export { startRestarts } from "./restarts/feature.ts";
export { type RuntimeFinder, startRuntimeFinder } from "./runtime_socket/finder.ts";
export type { Sockets } from "./runtime_socket/sockets.ts";
export { type AgentGates, type AgentSettings, agentFlags, agentSettings } from "./settings.ts";
export { type Agent, type AgentDependencies, startAgent } from "./start.ts";
export { createStateStore, type StateFiles } from "./state/store.ts";
export { agentNotes } from "./usage.ts";
