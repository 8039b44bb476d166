/** What of an object's `spec` its revisions hold, and how that reads. */
import type { LabelSelector } from "../../kube/core/index.ts";
import {
  type AnyObject,
  at,
  type Fields,
  fieldsAt,
  isFields,
  listAt,
  selectorAt,
  textAt,
} from "../fields.ts";
import { podTemplateText } from "./template_text.ts";

export interface Revised {
  /** As in "current template already matches revision 1". */
  readonly noun: string;
  /** Members of `spec` in the `data.spec` of a ControllerRevision; undefined when it is not of this form. */
  of(data: unknown): Fields | undefined;
  /** The same members of the object, in the same form. */
  now(object: AnyObject): Fields;
  text(spec: Fields): string;
  /** Of its containers, in their order. */
  images(spec: Fields): string[];
  /** Labels of the object's revisions. */
  selector(object: AnyObject): LabelSelector;
  /** Whether a pod has what the newest revision says. */
  isUpdated(pod: AnyObject, object: AnyObject): boolean;
}

export const revisedTemplate: Revised = {
  noun: "template",
  of: (data) => {
    const template = at(data, "template");
    return isFields(template) ? { template: withoutMarker(template) } : undefined;
  },
  now: (object) => ({ template: at(object, "spec", "template") }),
  text: (spec) => podTemplateText(fieldsAt(spec, "template")),
  images: (spec) => imagesOf(at(spec, "template", "spec")),
  selector: (object) => selectorAt(object, "spec", "selector"),
  isUpdated: hasNewestRevision,
};

/** `podSpec`: whatever has `containers`. */
export function imagesOf(podSpec: unknown): string[] {
  return listAt(podSpec, "containers").flatMap((container) => textAt(container, "image") ?? []);
}

/** The marker belongs to the patch form in which revisions are stored. */
export function withoutMarker({ $patch: _, ...fields }: Fields): Fields {
  return fields;
}

function hasNewestRevision({ metadata }: AnyObject, owner: AnyObject): boolean {
  if (metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) !== true) return false;
  const { updateRevision, daemonSetHash } = fieldsAt(owner, "status");
  const newest = hashOf(String(updateRevision ?? daemonSetHash ?? ""));
  return hashOf(metadata.labels?.["controller-revision-hash"] ?? "") === newest;
}

/** Full and short revision labels match by what follows the last dash (spec cloneset 4.3, rule 16). */
function hashOf(revision: string): string {
  return revision.slice(revision.lastIndexOf("-") + 1);
}
