/** ImageListPullJob: several images, an ImagePullJob each. */
export { mutateImageListPullJob, validateImageListPullJob } from "./admit.ts";
export { imageListPullJobShell } from "./reconcile.ts";
