/** What admission fills in and refuses of the settings that both pull jobs share. Spec: images P2, P5, L2. */
import {
  compileSelector,
  familiarImage,
  type IntOrString,
  isJsonObject,
  type JsonObject,
  type LabelSelector,
  own,
  ParseError,
  put,
} from "../kube/core/index.ts";

/** Defaults of the agent and of admission. */
export const defaultPullTimeoutSeconds = 600;
export const defaultPullBackoffLimit = 3;
/** One node at a time. */
export const defaultPullParallelism = 1;

export interface PullSettings {
  completionPolicy?: { activeDeadlineSeconds?: number; ttlSecondsAfterFinished?: number; type?: string };
  parallelism?: IntOrString;
  podSelector?: LabelSelector;
  pullPolicy?: { timeoutSeconds?: number };
  selector?: LabelSelector & { names?: string[] };
}

/** Fills the defaults into `spec`. */
export function defaultPullSettings(spec: JsonObject): void {
  const completion = member(spec, "completionPolicy");
  if (isAbsent(own(completion, "type")) || completion["type"] === "") completion["type"] = "Always";
  defaultPullPolicy(member(spec, "pullPolicy"));
}

/** Fills time limit and number of retries into a pull policy. */
export function defaultPullPolicy(policy: JsonObject): void {
  if (isAbsent(own(policy, "timeoutSeconds"))) policy["timeoutSeconds"] = defaultPullTimeoutSeconds;
  if (isAbsent(own(policy, "backoffLimit"))) policy["backoffLimit"] = defaultPullBackoffLimit;
}

/** The object under `key`, made if it is absent. */
export function member(object: JsonObject, key: string): JsonObject {
  const present = own(object, key);
  if (isJsonObject(present)) return present;
  const made: JsonObject = {};
  put(object, key, made);
  return made;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

/** What is wrong about where an image is pulled. */
export function nodesComplaints({ selector, podSelector }: PullSettings): string[] {
  const complaints: string[] = [];
  if (selector) {
    const { names, matchLabels, matchExpressions } = selector;
    if (matchLabels || matchExpressions) {
      if (names) complaints.push("can not set both names and labelSelector in this spec.selector");
      const complaint = selectorComplaint(selector);
      if (complaint !== undefined) complaints.push(`invalid selector: ${complaint}`);
    }
    if (names && new Set(names).size !== names.length) complaints.push("duplicated name in selector names");
  }
  if (!podSelector) return complaints;
  if (selector) complaints.push("can not set both selector and podSelector");
  const complaint = selectorComplaint(podSelector);
  return complaint === undefined ? complaints : [...complaints, `invalid podSelector: ${complaint}`];
}

function selectorComplaint(selector: LabelSelector): string | undefined {
  return complaintOf(() => compileSelector(selector));
}

/** What is wrong with an image reference. */
export function imageComplaints(image: string): string[] {
  if (image === "") return ["image can not be empty"];
  const complaint = complaintOf(() => familiarImage(image));
  return complaint === undefined ? [] : [`invalid image ${image}: ${complaint}`];
}

function complaintOf(parse: () => unknown): string | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    if (error instanceof ParseError) return error.message;
    throw error;
  }
}

/** What is wrong about how an image is pulled. `deadline`: also compare it with the time limit. */
export function pullComplaints(settings: PullSettings, deadline: boolean): string[] {
  const complaints = [
    parallelismComplaint(settings.parallelism),
    completionComplaint(settings.completionPolicy ?? {}, settings.pullPolicy, deadline),
  ];
  return complaints.filter((complaint) => complaint !== undefined);
}

function completionComplaint(
  { activeDeadlineSeconds, ttlSecondsAfterFinished, type }: NonNullable<PullSettings["completionPolicy"]>,
  pullPolicy: PullSettings["pullPolicy"],
  deadline: boolean,
): string | undefined {
  const limits = [activeDeadlineSeconds, ttlSecondsAfterFinished].filter((each) => !isAbsent(each));
  switch (type) {
    case "Always": {
      const timeout = pullPolicy?.timeoutSeconds ?? defaultPullTimeoutSeconds;
      return deadline && !isAbsent(activeDeadlineSeconds) && Number(activeDeadlineSeconds) < timeout
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

function parallelismComplaint(parallelism: IntOrString | undefined | null): string | undefined {
  if (isAbsent(parallelism)) return undefined;
  if (typeof parallelism === "string") {
    if (parallelism.endsWith("%")) return "parallelism does not support percentage value";
    if (!/^[+-]?\d+$/.test(parallelism)) {
      return `parallelism must be a valid integer: strconv.Atoi: parsing ${JSON.stringify(parallelism)}: invalid syntax`;
    }
  }
  return Number(parallelism) < 0 ? "parallelism must be non-negative" : undefined;
}
