/** What an installation consists of: for the programs that write charts and kustomizations. */
export { agentCommand, agentPort } from "./agent.ts";
export { type ControllerInstall, controllerPorts, refitProgram } from "./controller_deployment.ts";
export { definitions, type InstallOptions, installObjects, installReasons } from "./manifests.ts";
export { object, roleOf } from "./objects.ts";
export { commentedYaml, explainedYaml, type Reasons } from "./reasons.ts";
export { usualServerPorts } from "./safeguards.ts";
