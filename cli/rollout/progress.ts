/** How far a rollout is, as `rollout status` words it. */

export type Progress =
  | { readonly state: "done"; readonly message: string }
  | { readonly state: "waiting"; readonly message: string; readonly isRemark?: boolean }
  /** It will not end by itself: the command fails with this text. */
  | { readonly state: "failed"; readonly message: string };

export const done = (message: string): Progress => ({ state: "done", message });
export const waiting = (message: string): Progress => ({ state: "waiting", message });
/** A wait that the reference does not know: written to standard error, so that standard output stays as it is known. */
export const remark = (message: string): Progress => ({ state: "waiting", message, isRemark: true });
export const failed = (message: string): Progress => ({ state: "failed", message });

export const onlyRollingUpdate = failed("rollout status is only available for RollingUpdate strategy type");
