/** What the page may ask the server to change, and the command line that is the same. Both sides share this file. */

/** In the order in which they are offered. */
export const actions = ["pause", "resume", "promote", "partition", "undo", "scale", "recreate"] as const;
export type Action = (typeof actions)[number];

/** What fits a kind, by `CloneSet.apps.kruise.io`. */
export type ActionTable = Readonly<Record<string, readonly Action[]>>;

/** Name of the element in the page's head whose content is the table, in JSON. A page without it has no buttons. */
export const actionTableName = "refit-actions";

interface Asked<A extends Action> {
  readonly action: A;
  /** Key of the workload in the list: `clonesets.apps.kruise.io/default/web`. */
  readonly workload: string;
}

export type ActionRequest =
  | Asked<"pause">
  | Asked<"resume">
  /** The partition is lowered by so many pods, or to so many; `20%` is a part of all. */
  | (Asked<"promote"> & { readonly by: "step" | "to"; readonly amount: number | string })
  /** So many pods stay at the old revision, more than before or fewer; `20%` is a part of all. */
  | (Asked<"partition"> & { readonly amount: number | string })
  /** 0 is the revision before the newest. */
  | (Asked<"undo"> & { readonly revision: number })
  | (Asked<"scale"> & { readonly replicas: number })
  /** `pod`: `default/web-4xk2p`. Without containers all of the pod. `number` tells requests about one pod apart. */
  | (Asked<"recreate"> & {
      readonly pod: string;
      readonly containers: readonly string[];
      readonly number: number;
    });

/** What a command answered. */
export interface ActionAnswer {
  /** 0: it was done. */
  readonly code: number;
  /** What it printed, errors included. */
  readonly text: string;
}

/** A revision that can be gone back to. */
export interface RevisionChoice {
  readonly number: number;
  /** Images and, where somebody gave it, the cause. */
  readonly text: string;
}

/** Path of the requests, and of the list of a workload's revisions, newest first. */
export const actionPath = "/actions";
export const revisionsPath = "/revisions";

const nameText = "[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?";
const workloadKey = new RegExp(`^${nameText}(?:/${nameText}){1,2}$`);
const podKey = new RegExp(`^${nameText}/${nameText}$`);
const containerName = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const mostContainers = 64;

type Check = (value: unknown) => boolean;

const isText =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === "string" && pattern.test(value);
const isCount: Check = (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31;
const isAmount: Check = (value) => isCount(value) || isText(/^(?:\d{1,2}|100)%$/)(value);
const isContainers: Check = (value) =>
  Array.isArray(value) && value.length <= mostContainers && value.every(isText(containerName));

/** Members beside the action and the workload. */
const members: Readonly<Record<Action, Readonly<Record<string, Check>>>> = {
  pause: {},
  resume: {},
  promote: { by: isText(/^(?:step|to)$/), amount: isAmount },
  partition: { amount: isAmount },
  undo: { revision: isCount },
  scale: { replicas: isCount },
  recreate: { pod: isText(podKey), containers: isContainers, number: isCount },
};

/** Whether it has exactly the members of its action, each of a form that is safe in a command line. */
export function isActionRequest(value: unknown): value is ActionRequest {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const given: ReadonlyMap<string, unknown> = new Map(Object.entries(value));
  const action = actions.find((each) => each === given.get("action"));
  if (action === undefined) return false;
  const checks = { action: () => true, workload: isText(workloadKey), ...members[action] };
  const wanted = Object.entries(checks);
  return given.size === wanted.length && wanted.every(([name, check]) => check(given.get(name)));
}

/** Words of the equivalent command line, after `refit`. No word needs quotes. */
export function wordsOf(request: ActionRequest): string[] {
  const { named, place } = objectOf(request.workload);
  switch (request.action) {
    case "pause":
    case "resume":
      return ["rollout", request.action, named, ...place];
    case "promote":
      return ["rollout", "promote", named, ...place, ...promotionWords(request)];
    case "partition":
      return ["rollout", "partition", named, ...place, "--to", String(request.amount)];
    case "undo": {
      const revision = request.revision === 0 ? [] : ["--to-revision", String(request.revision)];
      return ["rollout", "undo", named, ...place, ...revision];
    }
    case "scale":
      return ["scale", named, ...place, "--replicas", String(request.replicas)];
    case "recreate":
      return recreateWords(request);
  }
}

/** To be read and pasted. */
export function commandOf(request: ActionRequest): string {
  return ["refit", ...wordsOf(request)].join(" ");
}

/** The type in full: a short name can be that of another group's type. */
function objectOf(key: string): { named: string; place: string[] } {
  const [type = "", ...path] = key.split("/");
  const [namespace, name] = path.length === 2 ? path : [undefined, path[0]];
  return { named: `${type}/${name}`, place: namespace === undefined ? [] : ["-n", namespace] };
}

function promotionWords({ by, amount }: Extract<ActionRequest, { action: "promote" }>): string[] {
  return by === "to" && amount === 0 ? [] : [`--${by}`, String(amount)];
}

function recreateWords({
  pod,
  containers,
  number,
}: Extract<ActionRequest, { action: "recreate" }>): string[] {
  const [namespace = "", name = ""] = pod.split("/");
  // A name has at most 253 characters, and no part of it ends with a sign.
  const start = name.slice(0, 200).replace(/[.-]+$/, "");
  const listed = containers.length === 0 ? [] : ["--containers", containers.join(",")];
  const named = `${start}-${number.toString(36)}`;
  return ["create", "crr", named, "-n", namespace, "--pod", name, ...listed];
}
