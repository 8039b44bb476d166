/** The commands that tests run inside simulated containers. */
import type { PodObject } from "../objects/index.ts";
import { behaviourOf, filesOf } from "./command.ts";
import { type ContainerRun, specOf } from "./pod_run.ts";

export interface ExecResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const done: ExecResult = { code: 0, stdout: "", stderr: "" };
const failed: ExecResult = { code: 1, stdout: "", stderr: "" };

/**
 * `touch F`, `rm F`, `test -f F`, `ls F`, `cat F`, `date +%s`, `env`, `hostname`, `echo …`, `true`, `false`; anything else is not
 * found (127). Files are those that the process or `touch` made, and those of the pod's annotation `files`.
 */
export function execute(
  pod: PodObject,
  run: ContainerRun,
  command: readonly string[],
  now: number,
): ExecResult {
  const words = command.filter((word) => word !== "--");
  const [name = "", ...rest] = words;
  const file = rest.filter((word) => !word.startsWith("-")).at(-1) ?? "";
  switch (name.split("/").pop()) {
    case "sh":
      return execute(pod, run, (rest.at(-1) ?? "").split(/\s+/), now);
    case "touch":
      run.touched.add(file);
      return done;
    case "rm":
      run.touched.delete(file);
      return done;
    case "ls":
    case "cat":
      if (file === "" || file === "/" || hasFile(pod, run, file, now)) return done;
      return { ...failed, stderr: `${name}: ${file}: No such file or directory\n` };
    case "test":
      return hasFile(pod, run, file, now) ? done : failed;
    case "true":
      return done;
    case "false":
      return failed;
    case "date":
      return { ...done, stdout: `${Math.floor(now / 1000)}\n` };
    case "hostname":
      return { ...done, stdout: `${pod.spec.hostname ?? pod.metadata.name}\n` };
    case "echo":
      return { ...done, stdout: `${rest.join(" ")}\n` };
    case "env":
    case "printenv":
      return { ...done, stdout: environment(pod, run) };
    default:
      return { code: 127, stdout: "", stderr: `exec: "${name}": executable file not found in $PATH\n` };
  }
}

function hasFile(pod: PodObject, run: ContainerRun, file: string, now: number): boolean {
  if (run.touched.has(file) || filesOf(pod, run.name).includes(file)) return true;
  const spec = specOf(pod, run);
  const at = spec && behaviourOf(pod, spec).touches.get(file);
  return at !== undefined && now >= run.startedAt + at;
}

/** Literal variables and those from metadata as they were when the container started. */
function environment(pod: PodObject, run: ContainerRun): string {
  const fromMetadata = new Map((run.environment ?? []).map(({ name, value }) => [name, value]));
  const lines = [`HOSTNAME=${pod.spec.hostname ?? pod.metadata.name}`];
  for (const { name, value } of specOf(pod, run)?.env ?? []) {
    const known = value ?? fromMetadata.get(name);
    if (known !== undefined) lines.push(`${name}=${known}`);
  }
  return `${lines.join("\n")}\n`;
}
