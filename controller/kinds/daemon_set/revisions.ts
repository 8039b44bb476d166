/** Template history of a DaemonSet. Spec: daemonset 4.10. */
import {
  type DaemonSet,
  isSameRevision,
  type PodTemplate,
  revisedPartOf,
  revisedPodTemplate,
} from "../../../crds/index.ts";
import {
  defaultPodTemplate,
  encodeTyped,
  fnv32a,
  isJsonObject,
  jsonEqual,
  revisionData,
  safeEncode,
} from "../../../kube/core/index.ts";
import type { ControllerRevision } from "../../../kube/index.ts";
import type { Template } from "../../rollout/in_place/change.ts";
import type { PlanMemory } from "../../rollout/plan_memory.ts";
import { type Revision, shortHash, templateOf } from "../../rollout/revisions/revisions.ts";
import { REVISION_LABEL } from "./strategy.ts";

export interface RevisionSearch {
  update: Revision;
  hash: string;
  write: "none" | "create" | "renumber";
  /** Further revisions of the same template: their pods are relabelled, then they go (rule 48). */
  duplicates: readonly ControllerRevision[];
  collisionCount: number;
}

/**
 * The revision of the present template. One that another controller wrote counts if it means the same pods: defaults
 * may be written out there and left out here, so that taking over a set restarts nothing.
 */
export function findRevision(
  set: DaemonSet,
  revisions: readonly ControllerRevision[],
  taken: (name: string) => string | undefined,
  memory: PlanMemory,
): RevisionSearch {
  const { template } = set.spec;
  const data = memory.templateData.of(template, () => revisedPodTemplate.data(template));
  const collisionCount = set.status?.collisionCount ?? 0;
  const next = (revisions.at(-1)?.revision ?? 0) + 1;
  const equal = equalRevisions(data, template, revisions, memory);
  const stored = equal.at(-1);
  if (stored !== undefined) {
    const renumber = stored.revision + 1 !== next;
    const number = renumber ? next : stored.revision;
    return {
      update: { name: stored.name, number, data, stored },
      hash: hashOf(stored),
      write: renumber ? "renumber" : "none",
      duplicates: equal.slice(0, -1),
      collisionCount,
    };
  }
  const workload = (set.metadata.name ?? "").slice(0, 223);
  for (let count = collisionCount; ; count++) {
    const hash = safeEncode(String(fnv32a(data + count)));
    const name = `${workload}-${hash}`;
    const other = revisions.find((revision) => revision.name === name)?.data ?? taken(name);
    if (other !== undefined && !isSameRevision(other, data, revisedPodTemplate)) continue;
    const update = { name, number: next, data, stored: undefined };
    // Another workload's, or one of a former set of this name: it does for us as long as it exists.
    const write = other === undefined ? "create" : "none";
    return { update, hash, write, duplicates: [], collisionCount: count };
  }
}

/**
 * Equal texts mean the same; other texts are compared by meaning. So a revision that this set wrote and one that it
 * adopted later are seen to be one.
 */
function equalRevisions(
  data: string,
  template: PodTemplate,
  revisions: readonly ControllerRevision[],
  { meanings }: PlanMemory,
): ControllerRevision[] {
  const wanted = () => meanings.of(template, () => meaningOf(template));
  return revisions.filter(
    (revision) =>
      revision.data === data ||
      jsonEqual(
        meanings.of(revision, () => meaningOfRevision(revision)),
        wanted(),
      ),
  );
}

function meaningOfRevision({ data }: ControllerRevision): unknown {
  const template = revisedPartOf(data, revisedPodTemplate);
  return template === undefined ? undefined : meaningOf(template);
}

/** The template with every default that the API server would write. */
function meaningOf(template: unknown): unknown {
  const typed = encodeTyped(template, "PodTemplateSpec");
  const defaulted = defaultPodTemplate(typed, { imagePullPolicy: "ByTag", hostNetworkPorts: true });
  const { spec } = defaulted;
  // The API server repeats the account under its former name.
  if (isJsonObject(spec)) delete spec["serviceAccount"];
  return JSON.parse(revisionData(defaulted));
}

/** The template of a revision's data as it is, and with its defaults; undefined when the data is broken. */
export function templatesOf(data: string): { written: Template; defaulted: Template } | undefined {
  const written = templateOf(data);
  if (written === undefined) return undefined;
  const defaulted: Template = defaultPodTemplate(written, {
    imagePullPolicy: "ByTag",
    hostNetworkPorts: true,
  });
  return { written, defaulted };
}

/** What pods of the revision are labelled with. */
export function hashOf(revision: ControllerRevision): string {
  return revision.labels[REVISION_LABEL] ?? shortHash(revision.name);
}
