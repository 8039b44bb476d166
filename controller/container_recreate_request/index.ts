/** ContainerRecreateRequest: containers of a running pod are restarted by the agent of its node. */
export { containerRecreateRequestShell } from "./reconcile.ts";
