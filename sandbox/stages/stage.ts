/** The language of stages: under which facts something happens to a simulated pod, after which delay, and what. */

/** What a stage may ask about one container (or, for `pod` stages, about the pod). */
export interface Facts {
  /** `new`: not yet taken up by its node. `ending`: failed by its node, containers still stop. */
  readonly pod: "new" | "living" | "ending" | "terminating" | "finished";
  readonly state: "waiting" | "running" | "exited" | "none";
  /** Whether it may start now: init containers go one by one, a running postStart hook holds back those after it. */
  readonly turn: "yes" | "no";
  /** Whether the kubelet wants the container to run (again), by restart policy and cause of the last exit. */
  readonly restart: "wanted" | "unwanted";
  readonly image: "present" | "missing" | "failing" | "never" | "misnamed";
  /** Environment from ConfigMaps and Secrets. */
  readonly config: "complete" | "missing";
  /** Volumes that the pod mounts. */
  readonly volumes: "complete" | "missing";
  /** Whether the event about volumes that cannot be mounted is there. */
  readonly mounts: "reported" | "failing" | "complete";
  /** Whether the running container was made from another image than the spec names now. */
  readonly made: "as specified" | "differently";
  readonly ends: "itself" | "never";
  /** Whether the annotation that ends the process is still the one that the running container was started with. */
  readonly exit: "current" | "changed";
  readonly ready: "yes" | "no";
  readonly probe: "passes" | "fails";
  readonly probeFailure: "reported" | "new";
  /** The liveness probe of a container that runs. */
  readonly liveness: "passes" | "fails";
  readonly hook: "running" | "over";
  readonly waitingFor: string;
  readonly resources: "applied" | "feasible" | "infeasible" | "deferred";
  /** Whether the refusal of the present resources has been reported. */
  readonly refusal: "reported" | "new";
  /** Whether environment that comes from metadata is what the metadata says (only with a simulated node agent). */
  readonly environment: "current" | "stale";
  /** Whether a ContainerRecreateRequest wants the running container stopped (only with a simulated node agent). */
  readonly recreation: "asked" | "none";
  /** The gate `InPlaceUpdateReady`. */
  readonly gate: "open" | "closed";
  readonly containers: "running" | "stopped";
  /** The node agent's annotation about the running containers. */
  readonly record: "current" | "stale";
  readonly deadline: "set" | "none";
  /** Whether the node has yet to say that it does not understand an annotation of the sandbox. */
  readonly annotations: "reported" | "invalid";
  /** Whether the node has asked for the removal of a deleted pod. */
  readonly removal: "asked" | "open";
}

export type Match = { readonly [Name in keyof Facts]?: Facts[Name] | readonly Facts[Name][] };

/** Names of delays: ranges of a profile, or points in time that follow from the pod itself. */
export type DelayName =
  | "none"
  | "pull"
  | "pullFailure"
  | "backOffShown"
  | "start"
  | "ready"
  | "liveness"
  | "stop"
  | "resize"
  | "agent"
  | "end"
  | "hook"
  | "deadline"
  | "remove";

export type Change =
  | { readonly do: "admit" }
  | { readonly do: "pulled" }
  | { readonly do: "pull failed" }
  | { readonly do: "wait"; readonly reason: string }
  | { readonly do: "start" }
  | { readonly do: "set exit" }
  | { readonly do: "exit"; readonly cause: ExitCause }
  | { readonly do: "ready"; readonly ready: boolean }
  | { readonly do: "probe failed" }
  | { readonly do: "hook over" }
  | { readonly do: "resize" }
  | { readonly do: "refuse resize" }
  | { readonly do: "record" }
  | { readonly do: "report annotations" }
  | { readonly do: "report mounts" }
  | { readonly do: "fail pod"; readonly reason: string; readonly message: string }
  | { readonly do: "remove" };

/** `ended`: by itself. The others are the kubelet's or the agent's doing. */
export type ExitCause = "ended" | "deleted" | "replaced" | "restarted by agent" | "recreated" | "unhealthy";

export interface Stage {
  readonly name: string;
  readonly of: "pod" | "container";
  readonly when: Match;
  readonly delay: DelayName;
  readonly change: Change;
  /**
   * When the pod's status is written: at once; held back while another change is due within the profile's
   * settling time; or not because of this stage.
   */
  readonly report: "now" | "soon" | "not";
}
