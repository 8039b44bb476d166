/** What the page may ask to be planned, and what it is told. Nothing is changed by it. Both sides share this file. */
import type { ReasonItem, WorkloadItem } from "./items.ts";

/** Path of the requests. */
export const planPath = "/plans";

/** Of a request, in characters: a manifest as text within JSON. */
export const longestPlanRequest = 1024 * 1024;

/** It has a workload, a manifest, or both. */
export interface PlanRequest {
  /**
   * Key of a workload in the list: `clonesets.apps.kruise.io/default/web`. With a manifest, objects that name no namespace are in
   * that of this workload.
   */
  readonly workload?: string;
  /** YAML or JSON of a workload as it is to become. Absent: it is planned as it is. */
  readonly manifest?: string;
  /** Which object of a manifest that holds several, from 0 on. */
  readonly at?: number;
}

/** In place of the key of a workload: where manifests are planned whose workloads are not in the list. */
export const manifestViewKey = "plan";

/** What a manifest names. */
export interface PlannedObject {
  /** As that of a workload in the list. */
  readonly key: string;
  /** `CloneSet web in shop`. */
  readonly words: string;
  /** Empty for objects of the whole cluster. */
  readonly namespace: string;
  readonly isStored: boolean;
  /** The page has a view of it. */
  readonly isListed: boolean;
}

/**
 * What becomes of a pod. `in place`: it stays, and what runs in it changes. `marked`: only its labels and annotations change, by
 * which others are told of what comes.
 */
export const podWays = ["in place", "new", "deleted", "marked"] as const;
export type PodWay = (typeof podWays)[number];

export interface PlannedPod {
  readonly way: PodWay;
  readonly namespace: string;
  /** Of a new pod the name that it may get. */
  readonly name: string;
  /** As `refit plan` says it. */
  readonly text: string;
  /** That write. */
  readonly requests: number;
}

export interface PlanAnswer {
  /** How far it is: `3 of 3 pods, 0 at revision web-7b9, 3 available`. */
  readonly summary: string;
  /** End of the name of the revision that pods are to have; empty where the kind has none. */
  readonly revision: string;
  /** In the order in which they are sent. */
  readonly pods: readonly PlannedPod[];
  /** What is done beside pods, in words. */
  readonly steps: readonly string[];
  /** That write, beside status and events; absent where they are not known before. */
  readonly requests?: number;
  readonly reasons: readonly ReasonItem[];
  /** Pods that reasons are about: `default/web-1`, each once, by the code of the reason. Those of `pods` are left out. */
  readonly about: readonly (readonly [code: string, pods: readonly string[]])[];
  readonly notices: readonly string[];
  /** When time alone changes the plan. */
  readonly againSeconds?: number;
  /** Of a manifest. */
  readonly of?: PlannedObject;
}

/** A manifest holds several objects that have plans. */
export interface PlanChoices {
  /** Place in the manifest, and words: `CloneSet web in shop`. */
  readonly choices: readonly (readonly [at: number, words: string])[];
}

/** Why no plan could be made, in the words of the server or of what checks manifests. */
export interface PlanRefusal {
  readonly refusal: string;
}

/** Whether the controller's plan of a kind that the page lists can be made. */
export function isPlannedKind({ group }: Pick<WorkloadItem, "group">): boolean {
  return group === "apps.kruise.io";
}

/** Whether it has no other members than those of a request. */
export function isPlanRequest(value: unknown): value is PlanRequest {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { workload, manifest, at, ...others }: Record<string, unknown> = { ...value };
  if (Object.keys(others).length > 0 || (workload === undefined && manifest === undefined)) return false;
  const isText = (each: unknown): boolean => each === undefined || typeof each === "string";
  const isPlace = at === undefined || (Number.isInteger(at) && Number(at) >= 0 && manifest !== undefined);
  return isText(workload) && isText(manifest) && isPlace;
}

/** The command line that says the same. `file`: empty where the manifest was pasted; names that need quotes are left out. */
export function planCommand(
  { word, namespace }: Pick<WorkloadItem, "word" | "namespace">,
  file: string | undefined,
): string {
  if (file === undefined) return `refit plan ${word}`;
  const place = namespace === "" ? "" : ` -n ${namespace}`;
  const isPlain = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(file);
  return `refit plan -f ${isPlain ? file : "FILE"}${place}`;
}
