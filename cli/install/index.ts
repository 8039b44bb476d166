/** What an installation consists of: for the programs that write charts and kustomizations. */
export { agentCommand, agentPort } from "./agent.ts";
export { controllerPorts, refitProgram } from "./controller_deployment.ts";
export { type InstallOptions, installObjects, installReasons } from "./manifests.ts";
export { explainedYaml } from "./reasons.ts";
export { usualServerPorts } from "./safeguards.ts";
