/** What revisions of a SidecarSet hold, and which pods have it. Loaded when needed: it brings the schemas of all kinds. */
import {
  defaultSidecarSet,
  injectedListAnnotation,
  newestSidecarsHash,
  parseInjectedList,
  parseInjectedSidecars,
  revisedSidecars as revisedPart,
  revisionSidecarSetLabel,
  sidecarSet,
  sidecarSetHashAnnotation,
} from "../../crds/index.ts";
import { isJsonObject } from "../../kube/core/index.ts";
import { type AnyObject, fieldsAt, isFields } from "../fields.ts";
import { imagesOf, type Revised, withoutMarker } from "./revised.ts";
import { sidecarsText } from "./template_text.ts";

/** The five members that new pods get; bytes as the controller writes them, so that defaults never look like changes. */
export const revisedSidecars: Revised = {
  noun: "set of sidecars",
  of: (data) => (isFields(data) ? withoutMarker(data) : undefined),
  now: (object) => {
    const read = isJsonObject(object) ? sidecarSet.readStored(defaultSidecarSet(object)) : undefined;
    if (read === undefined || !("object" in read) || read.object.spec === undefined) return {};
    return withoutMarker(fieldsAt(JSON.parse(revisedPart.data(read.object.spec)), "spec"));
  },
  text: sidecarsText,
  images: imagesOf,
  // They are in the manager's namespace, under labels of the set.
  selector: ({ metadata }) => ({ matchLabels: { [revisionSidecarSetLabel]: metadata.name ?? "" } }),
  isUpdated: hasNewestSidecars,
};

export function carriesSidecars({ metadata }: AnyObject, set: string): boolean {
  return parseInjectedList(metadata.annotations?.[injectedListAnnotation]).includes(set);
}

function hasNewestSidecars(pod: AnyObject, set: AnyObject): boolean {
  const { name = "" } = set.metadata;
  const entries = parseInjectedSidecars(pod.metadata.annotations?.[sidecarSetHashAnnotation]);
  return carriesSidecars(pod, name) && entries?.get(name)?.hash === newestSidecarsHash(set);
}
