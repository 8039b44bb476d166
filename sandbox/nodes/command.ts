/**
 * What a container's process does, read off its command line: how long it lives, with which code it ends,
 * which files it touches. Only the few commands that examples and tests use are understood.
 */
import {
  exitAnnotation,
  filesAnnotation,
  listensAnnotation,
  ofContainer,
  postStartAnnotation,
  preStopAnnotation,
  readyAnnotation,
} from "../annotations.ts";
import type { Container, PodObject } from "../objects/index.ts";
import { hasProgram, knownImage } from "./known_images.ts";
import type { ContainerKind } from "./pod_run.ts";

interface Behaviour {
  /** Absent: the process runs until it is stopped. */
  readonly end?: { readonly afterMs: number; readonly code: number };
  /** Path -> milliseconds after the start. */
  readonly touches: ReadonlyMap<string, number>;
  /** False when the command line said nothing that is understood. */
  readonly understood: boolean;
}

const noFiles: ReadonlyMap<string, number> = new Map();
const forever: Behaviour = { touches: noFiles, understood: true };
const unknown: Behaviour = { touches: noFiles, understood: false };

/** Milliseconds of `5`, `1.5s`, `2m`, `1h`, `999d`; undefined when it is no duration. */
function sleepMs(text: string | undefined): number | undefined {
  if (text === "infinity") return Number.POSITIVE_INFINITY;
  const parts = /^(\d+(?:\.\d+)?)([smhd]?)$/.exec(text ?? "");
  if (!parts) return undefined;
  const units: Record<string, number> = { "": 1_000, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  return Number(parts[1]) * (units[parts[2] ?? ""] ?? 1_000);
}

export function behaviourOf(pod: PodObject, container: Container): Behaviour {
  const end = ofContainer(pod.metadata, container.name, exitAnnotation);
  if (end !== undefined) return { end, touches: noFiles, understood: true };
  if (missingProgram(container) !== undefined)
    return { end: { afterMs: 0, code: notStartedCode }, touches: noFiles, understood: true };
  return behaviourOfCommand([...(container.command ?? []), ...(container.args ?? [])]);
}

/** What runtimes give for a process that cannot be started. */
const notStartedCode = 128;

/** The runtime's words where the image has no such program. */
export function missingProgram({ image = "", command = [] }: Container): string | undefined {
  const [program] = command;
  if (program === undefined || hasProgram(image, program)) return undefined;
  return `failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "${program}": stat ${program}: no such file or directory`;
}

export function behaviourOfCommand(words: readonly string[]): Behaviour {
  const shell = words[0]?.split("/").pop();
  if (
    (shell === "sh" || shell === "bash" || shell === "ash") &&
    words[1]?.startsWith("-") &&
    words[1].endsWith("c")
  ) {
    return behaviourOfScript(words[2] ?? "");
  }
  const run: ScriptRun = { elapsedMs: 0, code: 0, touches: new Map() };
  return finish(step(run, words), run);
}

interface ScriptRun {
  elapsedMs: number;
  code: number;
  readonly touches: Map<string, number>;
}

type Outcome = "goes on" | "ends" | "runs forever" | "unknown";

function behaviourOfScript(script: string): Behaviour {
  const run: ScriptRun = { elapsedMs: 0, code: 0, touches: new Map() };
  if (/\bwhile (true|:)/.test(script) || /\btail -f\b/.test(script)) return forever;
  // A finite loop of simple commands counts as done at once.
  const flat = script.replace(/\bfor\b[^;]*;\s*do\b(.*?);?\s*\bdone\b/gs, "true");
  let outcome: Outcome = "goes on";
  for (const line of flat.split(/;|&&|\n/)) {
    const words = line
      .trim()
      .split(/\s+/)
      .filter((word) => word !== "");
    if (words.length === 0) continue;
    outcome = step(run, words);
    if (outcome !== "goes on") break;
  }
  return finish(outcome, run);
}

function finish(outcome: Outcome, run: ScriptRun): Behaviour {
  if (outcome === "unknown") return { touches: run.touches, understood: false };
  if (outcome === "runs forever" || run.elapsedMs === Number.POSITIVE_INFINITY) {
    return { touches: run.touches, understood: true };
  }
  return { end: { afterMs: run.elapsedMs, code: run.code }, touches: run.touches, understood: true };
}

function step(run: ScriptRun, words: readonly string[]): Outcome {
  const argument = words[1]?.replace(/^["']|["']$/g, "");
  switch (words[0]?.split("/").pop()) {
    case "sleep": {
      const ms = sleepMs(argument);
      if (ms === undefined) return "unknown";
      run.elapsedMs += ms;
      run.code = 0;
      return ms === Number.POSITIVE_INFINITY ? "runs forever" : "goes on";
    }
    case "exit":
      run.code = Number(argument ?? run.code) || 0;
      return "ends";
    case "touch":
      if (argument) run.touches.set(argument, run.elapsedMs);
      run.code = 0;
      return "goes on";
    case "true":
    case "echo":
    case "date":
    case "hostname":
    case "env":
    case "printf":
    case ":":
      run.code = 0;
      return "goes on";
    case "false":
      run.code = 1;
      return "goes on";
    case "node":
      // A check whose answer is not known here must not seem to have found nothing.
      return words.some((word) => word.endsWith("/refit.mjs")) ? "runs forever" : "unknown";
    default:
      return "unknown";
  }
}

/** The exit that a container's process has coming, given how its pod restarts. */
export function endOf(
  pod: PodObject,
  container: Container,
  kind: ContainerKind,
): { afterMs: number; code: number } | undefined {
  const behaviour = behaviourOf(pod, container);
  if (behaviour.end) return behaviour.end;
  if (behaviour.understood) return undefined;
  if (kind === "init") return { afterMs: 0, code: 0 };
  // A task with a command that says nothing here is taken to do its work and end well.
  const isTask =
    kind === "main" && pod.spec.restartPolicy !== undefined && pod.spec.restartPolicy !== "Always";
  return isTask && (container.command ?? container.args ?? []).length > 0
    ? { afterMs: 0, code: 0 }
    : undefined;
}

/** Milliseconds that the postStart hook takes; the container's successors in the list start after it. */
export function postStartMs(pod: PodObject, container: Container): number {
  const given = ofContainer(pod.metadata, container.name, postStartAnnotation);
  return given ?? hookMs(container.lifecycle?.postStart);
}

export function preStopMs(pod: PodObject, container: Container): number {
  const given = ofContainer(pod.metadata, container.name, preStopAnnotation);
  return given ?? hookMs(container.lifecycle?.preStop);
}

function hookMs(hook: { exec?: { command?: string[] }; sleep?: { seconds: number } } | undefined): number {
  if (hook?.sleep) return hook.sleep.seconds * 1_000;
  const behaviour = hook?.exec?.command ? behaviourOfCommand(hook.exec.command) : unknown;
  return behaviour.end?.afterMs ?? 0;
}

/**
 * Milliseconds after the container's start at which its readiness (or startup) probe passes, without the node's own
 * delay; undefined when it always fails, or waits for a file that the process does not make.
 */
export function probePassesMs(
  pod: PodObject,
  container: Container,
  touched: ReadonlySet<string>,
): number | undefined {
  const given = ofContainer(pod.metadata, container.name, readyAnnotation);
  if (given !== undefined) return Number.isFinite(given) ? given : undefined;
  let latest = 0;
  for (const probe of [container.startupProbe, container.readinessProbe]) {
    if (!probe) continue;
    latest = Math.max(latest, (probe.initialDelaySeconds ?? 0) * 1_000);
    if (neverPasses(pod, container, probe)) return undefined;
    const file = probedFile(probe.exec?.command);
    if (file === undefined || touched.has(file)) continue;
    const at = behaviourOf(pod, container).touches.get(file);
    if (at === undefined) return undefined;
    latest = Math.max(latest, at);
  }
  return latest;
}

/** Whether the kubelet ends the container for its liveness probe, sooner or later. */
export function livenessFails(pod: PodObject, container: Container, touched: ReadonlySet<string>): boolean {
  const probe = container.livenessProbe;
  if (!probe) return false;
  if (neverPasses(pod, container, probe)) return true;
  const file = probedFile(probe.exec?.command);
  return file !== undefined && !touched.has(file) && !behaviourOf(pod, container).touches.has(file);
}

/** Milliseconds from the start of a container to its end for a liveness probe that always fails. */
export function failsAfterMs(probe: Probe | undefined): number {
  const { initialDelaySeconds = 0, failureThreshold = 3, periodSeconds = 10 } = probe ?? {};
  return (initialDelaySeconds + failureThreshold * periodSeconds) * 1_000;
}

type Probe = NonNullable<Container["livenessProbe"]>;

function neverPasses(pod: PodObject, container: Container, probe: Probe): boolean {
  if (probe.exec?.command?.[0] === "false") return true;
  const port = probe.httpGet?.port ?? probe.tcpSocket?.port ?? probe.grpc?.port;
  return port !== undefined && !serves(pod, container, port);
}

/** Of an image that is not known, and that declares no port, nobody knows what it serves: then it serves. */
function serves(pod: PodObject, container: Container, port: number | string): boolean {
  const declared = container.ports ?? [];
  const number = typeof port === "number" ? port : declared.find(({ name }) => name === port)?.containerPort;
  if (number === undefined) return false;
  const given = ofContainer(pod.metadata, container.name, listensAnnotation);
  if (given !== undefined) return given.includes(number);
  const known = knownImage(container.image ?? "");
  if (known === undefined && declared.length === 0) return true;
  return (
    declared.some(({ containerPort }) => containerPort === number) || known?.ports.includes(number) === true
  );
}

/** The file that an exec probe looks for: `test -f F`, `cat F`, `ls F`. */
function probedFile(command: readonly string[] | undefined): string | undefined {
  if (!command) return undefined;
  if (command[0] === "test" && (command[1] === "-f" || command[1] === "-e")) return command[2];
  return (command[0] === "cat" || command[0] === "ls") && command.length === 2 ? command[1] : undefined;
}

/** Files that a container has because its pod's annotation says so, whatever its process does. */
export function filesOf(pod: PodObject, container: string): readonly string[] {
  return ofContainer(pod.metadata, container, filesAnnotation) ?? [];
}
