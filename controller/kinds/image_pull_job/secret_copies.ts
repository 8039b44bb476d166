/**
 * Copies of pull secrets in the only namespace where node agents may read secrets: one for each source, shared by
 * the jobs that name it. Pure. Spec: images P4.13 to P4.18.
 */
import { fnv32a, keyOf, type Labels } from "../../../kube/core/index.ts";
import type { PullSecret } from "../../native/pull_secrets.ts";
import type { SecretReference } from "../../rollout/images/node_image.ts";

const SOURCE = "imagepulljobs.kruise.io/source-key";
const REFERENCES = "imagepulljobs.kruise.io/references";
const MODE = "imagepulljobs.kruise.io/mode";
const BATCH = "batch";
/** What agents can read credentials from. Any other secret stays where its owner put it. */
const CREDENTIAL_TYPES: readonly string[] = ["kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg"];
const LONGEST_NAME = 253;

interface PullSecretsObserved {
  /** `namespace/name` of the job. */
  readonly job: string;
  readonly jobNamespace: string;
  /** The namespace of the copies. */
  readonly namespace: string;
  /** Secrets of the job's namespace by the names in its spec; undefined where there is none (yet). */
  readonly sources: readonly (PullSecret | undefined)[];
  /** Every secret in the namespace of the copies. */
  readonly copies: readonly PullSecret[];
}

/** A copy as it should be. */
export interface WantedCopy {
  readonly name: string;
  readonly type: string;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly data: Labels;
}

export type SecretWrite =
  | { readonly type: "create"; readonly copy: WantedCopy }
  | { readonly type: "update"; readonly before: PullSecret; readonly copy: WantedCopy }
  | { readonly type: "delete"; readonly copy: PullSecret };

interface SecretsPlan {
  readonly writes: readonly SecretWrite[];
  /** What goes into NodeImages. */
  readonly references: readonly SecretReference[];
  /** Sources that hold no registry credentials: neither copied nor referred to. */
  readonly unsupported: readonly PullSecret[];
}

/** What a job that runs needs. */
export function planSecretCopies(observed: PullSecretsObserved): SecretsPlan {
  const writes: SecretWrite[] = [];
  const references: SecretReference[] = [];
  const unsupported: PullSecret[] = [];
  for (const source of observed.sources) {
    if (source === undefined || source.deleting) continue;
    if (!CREDENTIAL_TYPES.includes(source.type)) {
      unsupported.push(source);
      continue;
    }
    const { namespace, name } = source;
    if (namespace === observed.namespace) {
      references.push({ namespace, name });
      continue;
    }
    const present = copyOf(observed, source);
    // The type of a secret cannot be changed: another one takes its place.
    if (present !== undefined && present.type !== source.type) writes.push({ type: "delete", copy: present });
    const kept = present?.type === source.type ? present : undefined;
    const copy = wantedCopy(
      source,
      kept?.name ?? copyName(source, observed.copies),
      jobsOf(present),
      observed.job,
    );
    if (kept === undefined) writes.push({ type: "create", copy });
    else if (!isAsWanted(kept, copy)) writes.push({ type: "update", before: kept, copy });
    references.push({ namespace: observed.namespace, name: copy.name, mode: BATCH });
  }
  return { writes, references, unsupported };
}

/** What a job that is over gives back: a copy that no other job names is deleted. */
export function planRelease(observed: Pick<PullSecretsObserved, "job" | "copies">): SecretWrite[] {
  const writes: SecretWrite[] = [];
  for (const copy of observed.copies) {
    const jobs = jobsOf(copy);
    if (!jobs.includes(observed.job)) continue;
    const left = jobs.filter((job) => job !== observed.job);
    if (left.length === 0) writes.push({ type: "delete", copy });
    else
      writes.push({
        type: "update",
        before: copy,
        copy: { ...copy, annotations: listing(copy.annotations, left) },
      });
  }
  return writes;
}

/** Whether a change of this secret matters to the job: a copy that names it. */
export function namesJob(secret: PullSecret, job: string): boolean {
  return jobsOf(secret).includes(job);
}

/** The copy that names the job already, else the first by name (rule P4.15). */
function copyOf({ copies, job }: PullSecretsObserved, source: PullSecret): PullSecret | undefined {
  const key = keyOfSecret(source);
  const candidates = copies
    .filter((copy) => copy.annotations[SOURCE] === key && !copy.deleting)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return candidates.find((copy) => jobsOf(copy).includes(job)) ?? candidates[0];
}

function wantedCopy(source: PullSecret, name: string, jobs: readonly string[], job: string): WantedCopy {
  // Labels and annotations of the source speak to whoever acts on it in its own namespace, not to agents.
  const named = { [SOURCE]: keyOfSecret(source), [MODE]: BATCH };
  return {
    name,
    type: source.type,
    labels: {},
    annotations: listing(named, [...new Set([...jobs, job])]),
    data: source.data,
  };
}

/**
 * Made of the source's name, so that a creation whose answer was lost is not repeated under another name. Six digits are
 * soon found for a namespace whose secrets would get the names of another one's: a name that is taken is passed over.
 */
function copyName(source: PullSecret, secrets: readonly PullSecret[]): string {
  const key = keyOfSecret(source);
  const isOthers = ({ annotations }: PullSecret): boolean => annotations[SOURCE] !== key;
  const taken = new Set(secrets.filter(isOthers).map(({ name }) => name));
  for (let round = 0; ; round++) {
    const text = round === 0 ? key : `${key} ${round}`;
    const hash = (fnv32a(text) & 0xffffff).toString(16).padStart(6, "0");
    const name = `${source.name.slice(0, LONGEST_NAME - hash.length - 1)}-${hash}`;
    if (!taken.has(name)) return name;
  }
}

function listing(annotations: Labels, jobs: readonly string[]): Labels {
  return { ...annotations, [REFERENCES]: jobs.toSorted().join(",") };
}

function jobsOf(copy: PullSecret | undefined): string[] {
  return listed(copy?.annotations[REFERENCES]);
}

function listed(references = ""): string[] {
  return references.split(",").filter((job) => job !== "");
}

function isAsWanted(copy: PullSecret, wanted: WantedCopy): boolean {
  return (
    sameTexts(copy.data, wanted.data) &&
    sameTexts(copy.labels, wanted.labels) &&
    sameTexts(copy.annotations, wanted.annotations)
  );
}

function sameTexts(a: Labels, b: Labels): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

function keyOfSecret({ namespace, name }: PullSecret): string {
  return keyOf({ namespace, name });
}
