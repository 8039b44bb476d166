/** Ends the sidecars of jobs' pods once the job's own containers are over. */
export { sidecarTerminatorController } from "./reconcile.ts";
