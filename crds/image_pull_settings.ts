/** What admission fills in and refuses of the settings that both pull jobs share. Spec: images P2, P5, L2. */
import {
  compileSelector,
  ensureObject,
  familiarImage,
  type IntOrString,
  isPercentage,
  type JsonObject,
} from "../kube/core/index.ts";
import { fill, isSet } from "./fill.ts";
import type { ImageListPullJobSpec } from "./image_list_pull_job/schema.ts";
import { isGiven, parseProblem } from "./rules.ts";

/** Defaults of the agent and of admission. */
export const defaultPullTimeoutSeconds = 600;
export const defaultPullBackoffLimit = 3;
/** One node at a time. */
export const defaultPullParallelism = 1;

type PullSettings = Partial<Omit<ImageListPullJobSpec, "images">>;

/** Fills the defaults into `spec`. */
export function defaultPullSettings(spec: JsonObject): void {
  fill(ensureObject(spec, "completionPolicy"), "type", "Always");
  defaultPullPolicy(ensureObject(spec, "pullPolicy"));
}

/** Fills time limit and number of retries into a pull policy. */
export function defaultPullPolicy(policy: JsonObject): void {
  if (!isSet(policy, "timeoutSeconds")) policy["timeoutSeconds"] = defaultPullTimeoutSeconds;
  if (!isSet(policy, "backoffLimit")) policy["backoffLimit"] = defaultPullBackoffLimit;
}

/** What is wrong about where an image is pulled. */
export function nodesComplaints({ selector, podSelector }: PullSettings): string[] {
  const complaints: string[] = [];
  if (selector) {
    const { names, matchLabels, matchExpressions } = selector;
    if (matchLabels || matchExpressions) {
      if (names) complaints.push("can not set both names and labelSelector in this spec.selector");
      const complaint = parseProblem(() => compileSelector(selector));
      if (complaint !== undefined) complaints.push(`invalid selector: ${complaint}`);
    }
    if (names && new Set(names).size !== names.length) complaints.push("duplicated name in selector names");
  }
  if (!podSelector) return complaints;
  if (selector) complaints.push("can not set both selector and podSelector");
  const complaint = parseProblem(() => compileSelector(podSelector));
  return complaint === undefined ? complaints : [...complaints, `invalid podSelector: ${complaint}`];
}

/** What is wrong with an image reference. */
export function imageComplaints(image: string): string[] {
  if (image === "") return ["image can not be empty"];
  const complaint = parseProblem(() => familiarImage(image));
  return complaint === undefined ? [] : [`invalid image ${image}: ${complaint}`];
}

/** What is wrong about how an image is pulled. `deadline`: also compare it with the time limit. */
export function pullComplaints(settings: PullSettings, deadline: boolean): string[] {
  const complaints = [
    parallelismComplaint("parallelism", settings.parallelism),
    completionComplaint(settings.completionPolicy ?? {}, settings.pullPolicy, deadline),
  ];
  return complaints.filter((complaint) => complaint !== undefined);
}

function completionComplaint(
  { activeDeadlineSeconds, ttlSecondsAfterFinished, type }: NonNullable<PullSettings["completionPolicy"]>,
  pullPolicy: PullSettings["pullPolicy"],
  deadline: boolean,
): string | undefined {
  const limits = [activeDeadlineSeconds, ttlSecondsAfterFinished].filter(isGiven);
  switch (type) {
    case "Always": {
      const timeout = pullPolicy?.timeoutSeconds ?? defaultPullTimeoutSeconds;
      return deadline && isGiven(activeDeadlineSeconds) && activeDeadlineSeconds < timeout
        ? `completionPolicy.activeDeadlineSeconds must be greater than pullPolicy.timeoutSeconds(default ${defaultPullTimeoutSeconds})`
        : undefined;
    }
    case "Never":
      return limits.length > 0
        ? "activeDeadlineSeconds and ttlSecondsAfterFinished can only work with Always CompletionPolicyType"
        : undefined;
    default:
      return `unknown type of completionPolicy: ${type ?? ""}`;
  }
}

/** What is wrong with a number of pulls at the same time; `name` is that of the field. */
export function parallelismComplaint(
  name: string,
  value: IntOrString | undefined | null,
): string | undefined {
  if (!isGiven(value)) return undefined;
  if (isPercentage(value)) return `${name} does not support percentage value`;
  if (typeof value === "string" && !/^[+-]?\d+$/.test(value))
    return `${name} must be a valid integer: strconv.Atoi: parsing ${JSON.stringify(value)}: invalid syntax`;
  return Number(value) < 0 ? `${name} must be non-negative` : undefined;
}
