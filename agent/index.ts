/** The node agent. */

export { type CriClient, createCriClient } from "./cri/client.ts";
export { AgentError, type AgentErrorCode, isAgentError } from "./errors.ts";
export { type AgentRuntime, agentEnvironment, agentProgram } from "./launch.ts";
export { type AgentMetrics, createAgentMetrics } from "./metrics.ts";
export { denoPermissions, type PermissionSettings } from "./permissions.ts";
export { runAgentProcess } from "./process.ts";
export { type AgentGates, type AgentSettings, agentFlags, agentSettings } from "./settings.ts";
export { type Agent, type AgentDependencies, startAgent } from "./start.ts";
export { agentNotes } from "./usage.ts";
