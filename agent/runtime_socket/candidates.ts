/** Where a runtime's socket may be, and which of those that answered is the kubelet's. Pure. */
import { isAbsolute, join } from "node:path";

export interface SocketSettings {
  /** `--socket-file`: paths separated by commas, absolute or below the first root; empty means detection. */
  readonly socketFile: string;
  /** Where the host's run directories are seen: `/hostvarrun` in the DaemonSet. */
  readonly roots: readonly string[];
}

/** What one path answered. */
export interface Answer {
  readonly path: string;
  readonly outcome:
    | "usable"
    | "missing"
    | "not a socket"
    | "no permission"
    | "no answer"
    | "no CRI v1"
    | "unsupported";
  /** For people: the system's or the runtime's own words. */
  readonly detail: string;
  readonly runtimeName?: string;
  readonly runtimeVersion?: string;
}

/** Below a root, in order of preference (spec agent 4.1; the ones after cri-dockerd are distributions' own places). */
const detected = [
  "containerd.sock",
  "containerd/containerd.sock",
  "crio.sock",
  "crio/crio.sock",
  "cri-dockerd.sock",
  "cri-dockerd/cri-dockerd.sock",
  "k3s/containerd/containerd.sock",
  "k0s/containerd.sock",
  "snap/microk8s/common/run/containerd.sock",
] as const;

/** Sockets that are no CRI: their presence explains why none was found. */
const unsupported: Readonly<Record<string, string>> = {
  "docker.sock": "dockerd without cri-dockerd is not supported: install cri-dockerd",
  "dockershim.sock": "dockershim is not supported: it was removed from Kubernetes 1.24",
};

export function candidatePaths(settings: SocketSettings): string[] {
  const given = settings.socketFile
    .split(",")
    .map((path) => path.trim().replace(/^unix:(\/\/)?(?=\/)/, ""))
    .filter((path) => path !== "");
  const root = settings.roots[0] ?? "/run";
  if (given.length > 0) return given.map((path) => (isAbsolute(path) ? path : join(root, path)));
  return settings.roots.flatMap((one) => detected.map((path) => join(one, path)));
}

/** Path -> why it cannot serve. Only looked at when sockets are detected. */
export function unsupportedPaths(settings: SocketSettings): ReadonlyMap<string, string> {
  if (settings.socketFile.trim() !== "") return new Map();
  return new Map(
    settings.roots.flatMap((root) =>
      Object.entries(unsupported).map(([path, reason]): [string, string] => [join(root, path), reason]),
    ),
  );
}

export type Choice =
  | { readonly chosen: Answer; readonly skipped: readonly Answer[] }
  | { readonly chosen: undefined; readonly reason: string };

/**
 * The usable runtime that the kubelet uses: its name equals the scheme of the node's `containerRuntimeVersion`
 * (spec agent 4.2, point 8). A configured socket is taken as it is. Without knowledge of the node the first is taken.
 */
export function chooseRuntime(
  answers: readonly Answer[],
  settings: SocketSettings,
  kubeletRuntime: string | undefined,
): Choice {
  const usable = answers.filter((answer) => answer.outcome === "usable");
  const scheme = runtimeScheme(kubeletRuntime);
  const configured = settings.socketFile.trim() !== "";
  const fits = configured || !scheme ? usable[0] : usable.find((answer) => answer.runtimeName === scheme);
  if (fits) return { chosen: fits, skipped: answers.filter((answer) => answer !== fits) };
  return { chosen: undefined, reason: notFoundText(answers, usable, scheme) };
}

/** `docker://24.0.7` -> `docker`. */
export function runtimeScheme(version: string | undefined): string | undefined {
  return version?.split("://")[0];
}

/** Most important first: an event holds 1,024 characters of it. */
function notFoundText(
  answers: readonly Answer[],
  usable: readonly Answer[],
  scheme: string | undefined,
): string {
  const missing = (answer: Answer): number => (answer.outcome === "missing" ? 1 : 0);
  const tried = answers
    .toSorted((a, b) => missing(a) - missing(b))
    .map(({ path, outcome, detail }) => `${path}: ${detail || outcome}`)
    .join("; ");
  const other =
    usable.length > 0
      ? ` The kubelet of this node uses ${scheme}, but only ${usable.map((one) => one.runtimeName).join(", ")} answered.`
      : "";
  return (
    `not found container runtime sock.${other} ` +
    "To name the socket, set --socket-file (chart values daemon.socketLocation, the host's directory that is mounted " +
    `at /hostvarrun, and daemon.socketFile, the path below it). Tried ${tried}`
  );
}
