/** When a DaemonSet pulls images ahead; only its annotations tell how. Spec: daemonset 4.11. */
import type { PodTemplate } from "../../../crds/index.ts";
import type { Decisions } from "../../rollout/decisions.ts";
import { longestWaitMs } from "../../rollout/images/image_wait.ts";
import {
  CREATED,
  deletePullJob,
  IGNORED,
  integerOf,
  mark,
  pullJob,
  pullJobName,
} from "../../rollout/images/pre_download.ts";
import { templateOf } from "../../rollout/revisions/revisions.ts";
import { hashOf } from "./revisions.ts";
import type { DaemonSetState } from "./state.ts";
import { REVISION_LABEL } from "./strategy.ts";

const PARALLELISM = "apps.kruise.io/image-predownload-parallelism";
const TIMEOUT = "apps.kruise.io/image-predownload-timeout-seconds";

export function planPreDownload(state: DaemonSetState, decisions: Decisions): void {
  const { observed, strategy, update, hash } = state;
  if (observed.pullJobs === undefined) return;
  const { status } = observed.set;
  if (status?.updateRevision === hash && status.updatedNumberScheduled === status.desiredNumberScheduled) {
    for (const job of observed.pullJobs) decisions.take(deletePullJob(state.namespace, job));
    return;
  }
  const { stored } = update;
  if (stored === undefined || CREATED in stored.labels || IGNORED in stored.labels) return;
  const atOnce = strategy.partition === 0 && strategy.maxUnavailable >= strategy.desired;
  const images = atOnce ? [] : changedImages(state);
  const known = new Set(observed.pullJobs.map(({ name }) => name));
  const missing = images.filter(([container]) => !known.has(pullJobName(update, container)));
  for (const [container, image] of missing) decisions.take(pullJob(jobsOf(state), container, image));
  // Where pods wait for their image, the decision is kept only when the jobs are there, so that none is missed.
  const waits = longestWaitMs(observed.set.metadata.annotations) !== undefined;
  if (!waits || missing.length === 0) decisions.take(mark(update, images.length === 0 ? IGNORED : CREATED));
}

/** Images of containers that some old pod runs with another one. */
function changedImages({ observed, pods, update, hash }: DaemonSetState): [string, string][] {
  const old = new Set<string>();
  for (const { daemons } of pods.every()) {
    for (const { pod, updated } of daemons) if (!updated) old.add(pod.labels[REVISION_LABEL] ?? "");
  }
  const before = observed.revisions
    .filter((revision) => old.has(hashOf(revision)) && hashOf(revision) !== hash)
    .map((revision) => imagesOf(templateOf(revision.data)));
  return [...imagesOf(templateOf(update.data))].filter(([container, image]) =>
    before.some((images) => images.has(container) && images.get(container) !== image),
  );
}

function imagesOf(template: Partial<PodTemplate> | undefined): Map<string, string> {
  return new Map((template?.spec?.containers ?? []).map(({ name, image }) => [name, image ?? ""]));
}

function jobsOf({ observed, name, namespace, uid, update }: DaemonSetState) {
  const { metadata, spec } = observed.set;
  const { template, selector } = spec;
  const timeout = integerOf(metadata.annotations?.[TIMEOUT]);
  return {
    owner: { kind: "DaemonSet", name, namespace, uid },
    template,
    selector,
    update,
    hashLabel: REVISION_LABEL,
    parallelism: integerOf(metadata.annotations?.[PARALLELISM]) ?? 1,
    timeoutSeconds: timeout ?? 300,
  };
}
