/** What plans see of containers: of one in the runtime, and of one in its pod's status. */

/** The newest instance of a container. Times are milliseconds since the Unix epoch; 0 when it did not happen. */
export interface RuntimeContainer {
  readonly name: string;
  /** Without the runtime's name. */
  readonly id: string;
  readonly restartCount: number;
  readonly state: "created" | "running" | "exited" | "unknown";
  readonly startedAt: number;
  readonly exitCode: number;
  /** Of name and image, as the kubelet writes it onto the container: hex without leading zeros. */
  readonly hash: string;
}

/** One of `status.containerStatuses`. */
export interface ReportedContainer {
  readonly name: string;
  /** `<runtime>://<id>`, empty before the container runs. */
  readonly containerID: string;
  readonly ready: boolean;
  readonly restartCount: number;
}

/** Runtime name and id of `containerd://<id>`; undefined when it is neither. */
export function splitContainerID(containerID: string): { runtime: string; id: string } | undefined {
  const at = containerID.indexOf("://");
  if (at <= 0 || at + 3 === containerID.length) return undefined;
  return { runtime: containerID.slice(0, at), id: containerID.slice(at + 3) };
}
