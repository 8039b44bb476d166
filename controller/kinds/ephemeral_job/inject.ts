/** The patch that adds a job's containers to a pod. Pure. Spec: containers 5.4, rule 4. */
import type { EphemeralJob } from "../../../crds/index.ts";
import type { ObservedPod } from "../../native/observed_pod.ts";
import { JOB_ID_VARIABLE } from "./model.ts";

/** A strategic merge patch of `pods/ephemeralcontainers`. */
export function injectionPatch(job: EphemeralJob, pod: ObservedPod): object {
  const mark = { name: JOB_ID_VARIABLE, value: job.metadata.uid ?? "" };
  const ephemeralContainers = (job.spec.template.ephemeralContainers ?? []).map((container) => ({
    ...container,
    env: [...(container.env ?? []).filter(({ name }) => name !== JOB_ID_VARIABLE), mark],
  }));
  return { metadata: { uid: pod.uid }, spec: { ephemeralContainers } };
}
