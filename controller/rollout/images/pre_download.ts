/** Image pull jobs ahead of an in-place update. Spec: cloneset 4.9, statefulset 4.12. */
import { apiVersionOf, imagePullJob, type PodTemplate } from "../../../crds/index.ts";
import { type IntOrString, type LabelSelector, labelValueErrors } from "../../../kube/core/index.ts";
import type { ObjectBody } from "../../plan/effects.ts";
import { type ChangeOptions, inPlaceChange } from "../in_place/change.ts";
import { ownerReference } from "../pods/pod_manifest.ts";
import { patchRevision } from "../revisions/revision_actions.ts";
import { HASH_LABEL, type Revision, sameRevision, shortHash, templateOf } from "../revisions/revisions.ts";
import { eventEffect, otherAction, type Reports, targetOf, withError } from "../writes/action_parts.ts";
import type { OtherAction } from "../writes/actions.ts";

const REVISION_LABEL = "controller-revision-hash";
export const CREATED = "apps.kruise.io/pre-predownload-created";
export const IGNORED = "apps.kruise.io/image-predownload-ignored";

/** Up to so many replicas pulling ahead is not worth a job. */
const FEW_REPLICAS = 3;

/** What the jobs of one rollout have in common. */
interface PullJobs {
  owner: { kind: string; name: string; namespace: string; uid: string };
  template: PodTemplate;
  selector: LabelSelector;
  update: Revision;
  /** Label of the jobs that tells their revision; its value is the bare hash. */
  hashLabel: string;
  parallelism: IntOrString;
  timeoutSeconds: number;
}

/** What tells how fast a rollout will be. */
interface Pace {
  policy: string;
  onDelete: boolean;
  replicas: number;
  partition: number;
  /** A percentage of it is rounded down. */
  maxUnavailable: number;
}

interface PreDownload extends Omit<PullJobs, "hashLabel"> {
  current: Revision;
  /** Jobs that the workload controls. */
  jobs: readonly { name: string; uid: string }[];
  strategy: Pace;
  /** Enough pods run the new revision for it to be decided whether the others' images are pulled. */
  begun: () => boolean;
  /** Pods wait for their image: the decision is kept only when the jobs are there, so that none is missed. */
  waits: boolean;
  change: ChangeOptions;
}

export function planPullJobs(input: PreDownload): OtherAction[] {
  const { update, current, jobs, owner } = input;
  if (sameRevision(update.name, current.name)) {
    return jobs.map((job) => deletePullJob(owner.namespace, job));
  }
  const stored = update.stored;
  if (stored === undefined || CREATED in stored.labels || IGNORED in stored.labels) return [];
  if (!input.begun()) return [];
  const images = isWorthwhile(input.strategy) ? changedImages(input) : undefined;
  if (images === undefined) return [mark(update, IGNORED)];
  const made = Object.entries(images)
    .filter(([container]) => !jobs.some(({ name }) => name === pullJobName(update, container)))
    .map(([container, image]) => pullJob({ ...input, hashLabel: HASH_LABEL }, container, image));
  return input.waits && made.length > 0 ? made : [...made, mark(update, CREATED)];
}

/** Whether the strategy leaves time for a pull to pay off (rule 59). */
function isWorthwhile({ policy, onDelete, replicas, partition, maxUnavailable }: Pace): boolean {
  if (policy === "ReCreate" || onDelete || replicas <= FEW_REPLICAS) return false;
  return partition > 0 || maxUnavailable < replicas;
}

/** Whether it is still to be decided if images are pulled ahead for this revision. */
export function isPullUndecided({ stored }: Revision): boolean {
  return stored !== undefined && !(CREATED in stored.labels) && !(IGNORED in stored.labels);
}

export function pullJobName(update: Revision, container: string): string {
  return `${update.name}-${container}`;
}

function changedImages({
  current,
  update,
  change,
}: PreDownload): Readonly<Record<string, string>> | undefined {
  const before = templateOf(current.data);
  const after = templateOf(update.data);
  if (before === undefined || after === undefined) return undefined;
  return inPlaceChange(before, after, change).change?.images;
}

/** The decision is kept on the revision and never taken again for it. */
export function mark({ stored: revision }: Revision, label: string): OtherAction {
  if (revision === undefined) throw new Error("a pre-download decision needs a stored revision");
  return patchRevision(revision, { metadata: { uid: revision.uid, labels: { [label]: "true" } } });
}

export function pullJob(input: PullJobs, container: string, image: string): OtherAction {
  const { owner, template, selector, update } = input;
  const name = pullJobName(update, container);
  const hash = shortHash(update.name);
  const body = {
    apiVersion: apiVersionOf(imagePullJob),
    kind: imagePullJob.kind,
    metadata: {
      name,
      namespace: owner.namespace,
      labels: { ...template.metadata?.labels, [input.hashLabel]: hash },
      ownerReferences: [ownerReference(owner.kind, owner.name, owner.uid)],
    },
    spec: {
      image,
      ...pullSecrets(template),
      podSelector: {
        ...selector,
        matchExpressions: [
          ...(selector.matchExpressions ?? []),
          { key: REVISION_LABEL, operator: "NotIn", values: [update.name, hash].filter(isLabelValue) },
        ],
      },
      parallelism: input.parallelism,
      pullPolicy: { backoffLimit: 1, timeoutSeconds: input.timeoutSeconds },
      completionPolicy: { type: "Always", ttlSecondsAfterFinished: 600 },
      sandboxConfig: {
        labels: template.metadata?.labels ?? {},
        annotations: template.metadata?.annotations ?? {},
      },
    },
  };
  return createPullJob(owner.namespace, name, body, {
    succeeded: {
      reason: "CreatedImagePullJob",
      message: `created ImagePullJob ${name} for image: ${image}`,
    },
    failed: { reason: "FailedCreateImagePullJob", message: `failed to create ImagePullJob ${name}` },
  });
}

/** No pod can carry a longer name, and the job would be refused for it. */
function isLabelValue(text: string): boolean {
  return labelValueErrors(text).length === 0;
}

export function createPullJob(
  namespace: string,
  name: string,
  body: ObjectBody,
  { succeeded, failed }: Reports = {},
): OtherAction {
  const action = otherAction("create object", {
    ...targetOf("imagepulljobs", { namespace, name }),
    type: "create",
    body,
    existing: "unread",
    // The API has this one as a Normal event; alerts that count on it keep working.
    failed: failed && eventEffect("Normal", withError(failed)),
  });
  // Recorded also when the object was there already.
  const events = succeeded === undefined ? [] : [eventEffect("Normal", succeeded)];
  return { ...action, effects: [...action.effects, ...events] };
}

export function deletePullJob(
  namespace: string,
  { name, uid }: { readonly name: string; readonly uid: string },
): OtherAction {
  return otherAction("delete object", {
    ...targetOf("imagepulljobs", { namespace, name }),
    type: "delete",
    uid,
  });
}

function pullSecrets(template: PodTemplate): { pullSecrets?: string[] } {
  const secrets = template.spec["imagePullSecrets"];
  if (!Array.isArray(secrets)) return {};
  return {
    pullSecrets: secrets.map((secret: { name?: string }) => secret.name ?? "").filter((name) => name !== ""),
  };
}

/** The number in an annotation; undefined for text that is none. */
export function integerOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}
