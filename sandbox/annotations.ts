/**
 * Annotations by which people break things in a sandbox: each with the values that it takes. Nodes read them when they look at a
 * pod, so that `kubectl annotate` works on pods that run.
 */
import { isQuantity, type ObjectMeta, quantityValue } from "../kube/core/index.ts";

const domain = "sandbox.refit.dev";

/** `T` is what the text of the annotation means. */
export interface Annotation<T> {
  /** After `sandbox.refit.dev/`. */
  readonly name: string;
  readonly on: "container" | "node" | "autoscaler";
  /** The form of its values, for messages and documents. */
  readonly value: string;
  readonly help: string;
  /** Undefined for text of another form. */
  read(text: string): T | undefined;
}

/** Longer values are not understood. */
export const longestValue = 256;
const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of `500ms`, `1.5s`, `2m`, `1h`; undefined for everything else. */
function duration(text: string): number | undefined {
  const parts = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(text);
  return parts ? Number(parts[1]) * (units[parts[2] ?? ""] ?? 1) : undefined;
}

export const exitAnnotation: Annotation<{ readonly code: number; readonly afterMs: number }> = {
  name: "exit",
  on: "container",
  value: "CODE or CODE@DURATION",
  help: "The process ends with this code (0 to 255), so long after each start of the container. On a running container: so long from now.",
  read(text) {
    const [, code, after] = /^(\d{1,3})(?:@(.+))?$/.exec(text) ?? [];
    const afterMs = after === undefined ? 0 : duration(after);
    if (code === undefined || Number(code) > 255 || afterMs === undefined) return undefined;
    return { code: Number(code), afterMs };
  },
};

/** `fails`: undefined where the registry decides. */
export const pullAnnotation: Annotation<{
  readonly fails: boolean | undefined;
  readonly afterMs: number | undefined;
}> = {
  name: "pull",
  on: "container",
  value: "ok, fail, fail@DURATION or DURATION",
  help: "Pulling the image succeeds whatever its tag is, fails (after this time), or takes this long. An image that is on the node is not pulled.",
  read(text) {
    if (text === "ok" || text === "fail") return { fails: text === "fail", afterMs: undefined };
    const fails = text.startsWith("fail@") || undefined;
    const afterMs = duration(fails ? text.slice("fail@".length) : text);
    return afterMs === undefined ? undefined : { fails, afterMs };
  },
};

/** Milliseconds after the start; infinite for `never`. */
export const readyAnnotation: Annotation<number> = {
  name: "ready",
  on: "container",
  value: "never or DURATION",
  help: "The readiness probe never passes, or passes this long after the start, whatever probes the container has.",
  read: (text) => (text === "never" ? Number.POSITIVE_INFINITY : duration(text)),
};

export const logAnnotation: Annotation<string> = {
  name: "log",
  on: "container",
  value: "TEXT",
  help: "What the container's log says; with `terminationMessagePolicy: FallbackToLogsOnError` also the message of a failure.",
  read: (text) => text,
};

export const postStartAnnotation: Annotation<number> = {
  name: "post-start",
  on: "container",
  value: "DURATION",
  help: "How long the postStart hook takes.",
  read: duration,
};

export const preStopAnnotation: Annotation<number> = {
  name: "pre-stop",
  on: "container",
  value: "DURATION",
  help: "How long the preStop hook takes, within the grace period.",
  read: duration,
};

export const filesAnnotation: Annotation<readonly string[]> = {
  name: "files",
  on: "container",
  value: "PATH,...",
  help: "Files that commands of probes find, whatever the process does.",
  read: (text) => text.split(","),
};

export const listensAnnotation: Annotation<readonly number[]> = {
  name: "listens",
  on: "container",
  value: "PORT,... or nothing",
  help: "Ports that answer probes of the node agent, instead of those that the container declares.",
  read: (text) => (/^(\d{1,5}(,\d{1,5})*)?$/.test(text) ? text.split(",").map(Number) : undefined),
};

export const deadAnnotation: Annotation<boolean> = {
  name: "dead",
  on: "node",
  value: "true or false",
  help: "The node falls silent, as one that lost its power or its network; `false`, or taking the annotation away, brings it back.",
  read: (text) => (text === "true" ? true : text === "false" ? false : undefined),
};

/** Cores. */
export const loadAnnotation: Annotation<number> = {
  name: "load",
  on: "autoscaler",
  value: "QUANTITY",
  help: "The CPU that all pods of the target use together, as `1500m` or `3`: the HorizontalPodAutoscaler scales by it.",
  read: (text) => (isQuantity(text) && quantityValue(text) >= 0 ? quantityValue(text) : undefined),
};

/** All of them. */
export const annotations: readonly Annotation<unknown>[] = [
  pullAnnotation,
  exitAnnotation,
  readyAnnotation,
  logAnnotation,
  postStartAnnotation,
  preStopAnnotation,
  filesAnnotation,
  listensAnnotation,
  deadAnnotation,
  loadAnnotation,
];

type Annotated = Pick<ObjectMeta, "annotations">;

/** What a pod's annotation means for one container: `<container>.sandbox.refit.dev/<name>`, else that for all. */
export function ofContainer<T>(
  { annotations: given }: Annotated,
  container: string,
  annotation: Annotation<T>,
): T | undefined {
  const text = textOfContainer(given, container, annotation.name);
  return text === undefined || text.length > longestValue ? undefined : annotation.read(text);
}

/** The key of an annotation, by its name, that is for one container of a pod. */
export const keyOfContainer = (container: string, name: string): string => `${container}.${domain}/${name}`;

/** The annotation as it is written, to see whether it has changed. */
export function textOfContainer(
  given: Readonly<Record<string, string>> | undefined,
  container: string,
  name: string,
): string | undefined {
  return given?.[keyOfContainer(container, name)] ?? given?.[`${domain}/${name}`];
}

/** What the annotation of a node or an autoscaler means. */
export function ofObject<T>({ annotations: given }: Annotated, annotation: Annotation<T>): T | undefined {
  const text = given?.[`${domain}/${annotation.name}`];
  return text === undefined || text.length > longestValue ? undefined : annotation.read(text);
}

/** What is wrong with the annotations of this domain on an object, one sentence each; nothing when all are understood. */
export function annotationErrors(
  { annotations: given = {} }: Annotated,
  on: Annotation<unknown>["on"],
): readonly string[] {
  const errors: string[] = [];
  for (const [key, text] of Object.entries(given)) {
    const slash = key.indexOf("/");
    const prefix = key.slice(0, slash);
    if (prefix !== domain && !(on === "container" && prefix.endsWith(`.${domain}`))) continue;
    const known = annotations.filter((annotation) => annotation.on === on);
    const annotation = known.find(({ name }) => name === key.slice(slash + 1));
    if (annotation === undefined)
      errors.push(
        `annotation ${key} is not known here; there are ${known.map(({ name }) => name).join(", ")}`,
      );
    else if (text.length > longestValue)
      errors.push(`annotation ${key} is longer than ${longestValue} characters`);
    else if (annotation.read(text) === undefined)
      errors.push(
        `annotation ${key} is ${JSON.stringify(text)}; write ${annotation.value}, a duration as 500ms, 10s or 2m`,
      );
  }
  return errors;
}
