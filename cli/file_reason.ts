/** Why the system refused a file, in words for its user; of other errors, their own words. */
export function fileReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? error.code : undefined;
  if (code === "EACCES" || code === "EPERM") return "permission denied";
  if (code === "EROFS") return "the file system is read-only";
  if (code === "ENOSPC") return "the disk is full";
  if (code === "ENOENT") return "there is no such file or folder";
  if (code === "EISDIR") return "it is a folder";
  return error.message;
}
