/** The patch that adds a job's containers to a pod. Pure. Spec: containers 5.4, rule 4. */
import type { EphemeralJob } from "../../../crds/index.ts";
import { objectsAt } from "../../native/json_fields.ts";
import type { ObservedPod } from "../../native/observed_pod.ts";
import { containersOf, JOB_ID_VARIABLE } from "./model.ts";

/** A strategic merge patch of `pods/ephemeralcontainers`. */
export function injectionPatch(job: EphemeralJob, pod: ObservedPod): object {
  const mark = { name: JOB_ID_VARIABLE, value: job.metadata.uid ?? "" };
  const ephemeralContainers = containersOf(job).map((container) => ({
    ...container,
    env: [...objectsAt(container, "env").filter(({ name }) => name !== JOB_ID_VARIABLE), mark],
  }));
  return { metadata: { uid: pod.uid }, spec: { ephemeralContainers } };
}
