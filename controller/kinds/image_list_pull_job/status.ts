/** What an ImageListPullJob reports. Pure. Spec: images L2. */
import type { ImageListPullJob, ImageListPullJobStatus, ImagePullJob } from "../../../crds/index.ts";
import { formatTime } from "../../../kube/core/index.ts";

/**
 * `children` by image: those that count. Images without one, or with one that has not begun, count for nothing. While others are
 * still to be deleted (`hasSurplus`) the job is not over: nobody would look after them.
 */
export function listJobStatus(
  job: ImageListPullJob,
  images: readonly string[],
  children: ReadonlyMap<string, ImagePullJob>,
  { startTime, now, hasSurplus }: { startTime: string; now: number; hasSurplus: boolean },
): ImageListPullJobStatus {
  let active = 0;
  let completed = 0;
  let succeeded = 0;
  const completes = (job.spec.completionPolicy?.type ?? "Always") === "Always";
  const failedImageStatuses: NonNullable<ImageListPullJobStatus["failedImageStatuses"]> = [];
  for (const image of images) {
    const child = children.get(image);
    const status = child?.status;
    if (child === undefined || status?.startTime === undefined) continue;
    const { desired, failed = 0, succeeded: done = 0 } = status;
    // Its nodes have no NodeImage yet: it waits for them, and has pulled nothing.
    if (completes && desired === 0 && status.completionTime === undefined) continue;
    if ((status.active ?? 0) > 0) active++;
    if (desired === failed + done) completed++;
    if (desired === done) succeeded++;
    if (failed > 0) failedImageStatuses.push(failure(image, child.metadata.name ?? ""));
  }
  const desired = images.length;
  const isOver = completes && !hasSurplus && desired === completed;
  return {
    startTime,
    ...(isOver ? { completionTime: formatTime(now) } : {}),
    desired,
    active,
    completed,
    succeeded,
    ...(failedImageStatuses.length === 0 ? {} : { failedImageStatuses }),
  };
}

function failure(image: string, imagePullJob: string) {
  const message = `Please check for details which nodes failed by 'kubectl get ImagePullJob ${imagePullJob}'.`;
  return { imagePullJob, name: image, message };
}
