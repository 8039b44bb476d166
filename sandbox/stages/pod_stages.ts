/**
 * What happens to pods on a simulated node, as data. All stages that match are under way side by side, each with
 * its delay; whichever is due first happens, then the pod is looked at again.
 */
import type { Change, DelayName, ExitCause, Match, Stage } from "./stage.ts";

type Row = [name: string, when: Match, delay: DelayName, change: Change, report: Stage["report"]];

const stageOf = (of: Stage["of"], given: Match, [name, when, delay, change, report]: Row): Stage => ({
  name,
  of,
  when: { ...given, ...when },
  delay,
  change,
  report,
});

const pod = (...row: Row) => stageOf("pod", {}, row);
const container = (...row: Row) => stageOf("container", {}, row);
const running = (...row: Row) => stageOf("container", { pod: "living", state: "running" }, row);
const idle = (...row: Row) => stageOf("container", { pod: "living", state: ["waiting", "exited"] }, row);
/** Those that the kubelet would start now, if it can. */
const starting = (name: string, when: Match, ...rest: [DelayName, Change, Stage["report"]]) =>
  idle(name, { turn: "yes", restart: "wanted", ...when }, ...rest);

const exit = (cause: ExitCause): Change => ({ do: "exit", cause });
const wait = (reason: string): Change => ({ do: "wait", reason });
const failPod = (reason: string, message: string): Change => ({ do: "fail pod", reason, message });

const tooLong = "Pod was active on the node longer than the specified deadline";
const unstarted = ["", "ContainerCreating", "PodInitializing", "CrashLoopBackOff"];
const unpulled = [...unstarted, "ImagePullBackOff", "ErrImagePull"];
const present = { image: "present", volumes: "complete" } as const;
const renewed = { made: "as specified", environment: "stale", gate: "closed" } as const;
const unready = { hook: "over", ready: "no" } as const;
const servingBefore = { pod: ["living", "terminating"], state: "running", ready: "yes" } as const;

export const podStages: readonly Stage[] = [
  pod("admit", { pod: "new" }, "none", { do: "admit" }, "soon"),
  pod(
    "deadline",
    { pod: "living", deadline: "set" },
    "deadline",
    failPod("DeadlineExceeded", tooLong),
    "not",
  ),
  pod(
    "remove",
    { pod: "terminating", containers: "stopped", removal: "open" },
    "remove",
    { do: "remove" },
    "not",
  ),
  pod("record-containers", { pod: "living", record: "stale" }, "agent", { do: "record" }, "not"),
  pod(
    "report-annotations",
    { pod: "living", annotations: "invalid" },
    "none",
    { do: "report annotations" },
    "not",
  ),
  pod("mount-fails", { pod: "living", mounts: "failing" }, "start", { do: "report mounts" }, "not"),
  container("stop", { pod: ["terminating", "ending"], state: "running" }, "stop", exit("deleted"), "soon"),
  running("set-exit", { exit: "changed" }, "none", { do: "set exit" }, "not"),
  running("end", { ends: "itself" }, "end", exit("ended"), "now"),
  running("replace", { made: "differently" }, "stop", exit("replaced"), "now"),
  running("renew-environment", renewed, "agent", exit("restarted by agent"), "now"),
  running("recreate", { recreation: "asked" }, "stop", exit("recreated"), "now"),
  starting("pull", { image: "missing" }, "pull", { do: "pulled" }, "not"),
  starting("pull-fails", { image: "failing" }, "pullFailure", { do: "pull failed" }, "now"),
  idle(
    "pull-backs-off",
    { image: "failing", waitingFor: "ErrImagePull" },
    "backOffShown",
    wait("ImagePullBackOff"),
    "now",
  ),
  starting(
    "pull-never",
    { image: "never", waitingFor: unstarted },
    "start",
    wait("ErrImageNeverPull"),
    "now",
  ),
  starting(
    "name-invalid",
    { image: "misnamed", waitingFor: unstarted },
    "start",
    wait("InvalidImageName"),
    "now",
  ),
  starting(
    "configuration-missing",
    { ...present, config: "missing", waitingFor: unpulled },
    "start",
    wait("CreateContainerConfigError"),
    "now",
  ),
  starting("start", { ...present, config: "complete" }, "start", { do: "start" }, "soon"),
  container("post-start", { state: "running", hook: "running" }, "hook", { do: "hook over" }, "not"),
  running("liveness-fails", { hook: "over", liveness: "fails" }, "liveness", exit("unhealthy"), "now"),
  running("become-ready", { ...unready, probe: "passes" }, "ready", { do: "ready", ready: true }, "soon"),
  running(
    "probe-fails",
    { ...unready, probe: "fails", probeFailure: "new" },
    "ready",
    { do: "probe failed" },
    "not",
  ),
  container(
    "become-unready",
    { ...servingBefore, probe: "fails" },
    "none",
    { do: "ready", ready: false },
    "now",
  ),
  running("resize", { made: "as specified", resources: "feasible" }, "resize", { do: "resize" }, "soon"),
  running(
    "refuse-resize",
    { resources: ["infeasible", "deferred"], refusal: "new" },
    "resize",
    { do: "refuse resize" },
    "now",
  ),
];
