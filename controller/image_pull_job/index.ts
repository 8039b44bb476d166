/** ImagePullJob: one image, pulled ahead on chosen nodes. */
export { mutateImagePullJob, validateImagePullJob } from "./admit.ts";
export { imagePullJobShell } from "./reconcile.ts";
