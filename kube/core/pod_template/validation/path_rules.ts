/** Paths inside volumes and containers. */

export function backstepErrors(path: string): string[] {
  return path.split("/").includes("..") ? ["must not contain '..'"] : [];
}

/** Relative, and below where it starts. */
export function descendingErrors(path: string): string[] {
  return [...(path.startsWith("/") ? ["must be a relative path"] : []), ...backstepErrors(path)];
}

/** Names that start with two dots belong to the kubelet. */
export function volumePathErrors(path: string): string[] {
  const reserved = path.startsWith("..") && !path.startsWith("../");
  return [...descendingErrors(path), ...(reserved ? ["must not start with '..'"] : [])];
}
