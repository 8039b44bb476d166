/** Pods of a built-in set that was deleted with orphan: what they mean is kept, so that nobody restarts. Spec: history 2.2. */
import { isJsonObject, revisionData } from "../../../kube/core/index.ts";
import type { ControllerRevision, Pod } from "../../../kube/index.ts";
import { type Revision, templateOf } from "../../rollout/revisions/revisions.ts";
import { REVISION_LABEL } from "./strategy.ts";

/**
 * Whether an orphan pod is what the update revision asks for, although its own revision says it in other words: both
 * APIs write a pull policy where the manifest has none, the built-in one by the image's tag and this one `Always`. A
 * running container pulls nothing, so that the difference is no reason to restart it.
 */
export function isTakenAsUpdated(
  pod: Pod,
  update: Revision,
  revisions: readonly ControllerRevision[],
): boolean {
  const name = pod.labels[REVISION_LABEL];
  if (name === undefined || name === update.name) return false;
  const own = revisions.find((revision) => revision.name === name);
  if (own === undefined) return false;
  const [before, after] = [withoutPullPolicies(own.data), withoutPullPolicies(update.data)];
  return before !== undefined && before === after;
}

/** The template as revisions are compared; undefined when the data is broken. */
function withoutPullPolicies(data: string): string | undefined {
  const template = templateOf(data);
  if (template === undefined || !isJsonObject(template.spec)) return undefined;
  const { containers } = template.spec;
  const stripped = Array.isArray(containers)
    ? containers.map((container) =>
        isJsonObject(container) ? { ...container, imagePullPolicy: "" } : container,
      )
    : containers;
  return revisionData({ ...template, spec: { ...template.spec, containers: stripped } });
}
