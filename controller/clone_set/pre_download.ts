/** Image pull jobs ahead of an in-place update. Spec: cloneset 4.9. */

import type { Action } from "../rollout/actions.ts";
import { inPlaceChange, type Template } from "../rollout/in_place/change.ts";
import { ownerReference } from "../rollout/pod_manifest.ts";
import { isActive, isReady } from "../rollout/pod_state.ts";
import { HASH_LABEL, sameRevision, shortHash, templateOf } from "../rollout/revisions.ts";
import { REVISION_LABEL } from "./observe.ts";
import type { Pass } from "./plan.ts";

const CREATED = "apps.kruise.io/pre-predownload-created";
const IGNORED = "apps.kruise.io/image-predownload-ignored";
/** Below this many replicas pulling ahead is not worth a job (rule 59). */
const FEW_REPLICAS = 3;

export function planPreDownload(pass: Pass): Action[] {
  const jobs = pass.seen.pullJobs;
  if (jobs === undefined) return [];
  if (sameRevision(pass.update.name, pass.current.name)) {
    return jobs.map((job) => ({
      type: "delete object",
      resource: "imagepulljobs",
      name: job.name,
      uid: job.uid,
    }));
  }
  const stored = pass.update.stored;
  if (stored === undefined || CREATED in stored.labels || IGNORED in stored.labels) return [];
  const images = worthwhile(pass) ? changedImages(pass) : undefined;
  if (images === undefined) return [mark(pass, IGNORED)];
  if (updatedReady(pass) < minimumUpdatedReady(pass)) return [];
  return [
    ...Object.entries(images).map(([container, image]) => pullJob(pass, container, image)),
    mark(pass, CREATED),
  ];
}

function worthwhile(pass: Pass): boolean {
  const { policy, onDelete, limits } = pass.strategy;
  if (policy === "ReCreate" || onDelete || limits.replicas <= FEW_REPLICAS) return false;
  return limits.partition > 0 || limits.maxUnavailable < limits.replicas;
}

function changedImages(pass: Pass): Readonly<Record<string, string>> | undefined {
  const before = templateOf(pass.current.data);
  const after = templateOf(pass.update.data);
  if (before === undefined || after === undefined) return undefined;
  return inPlaceChange(before as Template, after as Template, pass.options).change?.images;
}

function updatedReady(pass: Pass): number {
  return pass.seen.stored.filter(
    (pod) =>
      isActive(pod) && isReady(pod) && sameRevision(pod.labels[REVISION_LABEL] ?? "", pass.update.name),
  ).length;
}

function inPlaceStrategy(pass: Pass): Record<string, unknown> {
  return pass.seen.set.spec.updateStrategy?.rollingUpdate?.inPlaceUpdateStrategy ?? {};
}

function minimumUpdatedReady(pass: Pass): number {
  const least = inPlaceStrategy(pass)["imagePreDownloadMinUpdatedReadyPods"];
  return typeof least === "number" ? least : 0;
}

/** The decision is kept on the revision and never taken again for it. */
function mark(pass: Pass, label: string): Action {
  const revision = pass.update.stored;
  if (revision === undefined) throw new Error("a pre-download decision needs a stored revision");
  return {
    type: "patch revision",
    revision,
    body: { metadata: { uid: revision.uid, labels: { [label]: "true" } } },
  };
}

function pullJob(pass: Pass, container: string, image: string): Action {
  const { set } = pass.seen;
  const name = `${pass.update.name}-${container}`;
  const template = set.spec.template;
  const hash = shortHash(pass.update.name);
  const settings = inPlaceStrategy(pass);
  const secrets = template.spec["imagePullSecrets"];
  const selector = set.spec.selector;
  const body = {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ImagePullJob",
    metadata: {
      name,
      namespace: pass.namespace,
      labels: { ...template.metadata?.labels, [HASH_LABEL]: hash },
      ownerReferences: [ownerReference("CloneSet", pass.name, pass.uid)],
    },
    spec: {
      image,
      ...(Array.isArray(secrets)
        ? {
            pullSecrets: secrets
              .map((secret: { name?: string }) => secret.name ?? "")
              .filter((one) => one !== ""),
          }
        : {}),
      podSelector: {
        ...selector,
        matchExpressions: [
          ...(selector.matchExpressions ?? []),
          { key: REVISION_LABEL, operator: "NotIn", values: [pass.update.name, hash] },
        ],
      },
      parallelism: settings["imagePreDownloadParallelism"] ?? 1,
      pullPolicy: { backoffLimit: 1, timeoutSeconds: settings["imagePreDownloadTimeoutSeconds"] ?? 300 },
      completionPolicy: { type: "Always", ttlSecondsAfterFinished: 600 },
      sandboxConfig: {
        labels: template.metadata?.labels ?? {},
        annotations: template.metadata?.annotations ?? {},
      },
    },
  };
  return {
    type: "create object",
    resource: "imagepulljobs",
    name,
    body,
    succeeded: {
      type: "Normal",
      reason: "CreatedImagePullJob",
      message: `created ImagePullJob ${name} for image: ${image}`,
    },
    failed: { reason: "FailedCreateImagePullJob", message: `failed to create ImagePullJob ${name}` },
  };
}
