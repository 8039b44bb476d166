/** Revisions of a workload, as `rollout history` finds them, with what changed from each to the next. */
import type { Revised } from "../../rollout/revised.ts";
import { type Revision, revisionsOf } from "../../rollout/revisions.ts";
import { workloadNamed } from "../../rollout/workloads.ts";
import { timeAt } from "../../why/causes/pod_facts.ts";
import { shownText } from "../../why/causes/shown_text.ts";
import type { RevisionItem } from "../shared/detail_items.ts";
import { revisionEnd } from "../watching/workload_item.ts";
import type { DetailRequest } from "./detail_request.ts";
import { fieldChanges } from "./field_changes.ts";

/** The newest of them; their differences, too, are bounded. */
const mostRevisions = 10;
const mostChanges = 20;
const mostImages = 12;

/** Throws KubeError when they cannot be read. */
export async function revisionItems({
  access,
  target,
  stored,
}: Pick<DetailRequest, "access" | "target" | "stored">): Promise<ReadonlyMap<string, RevisionItem>> {
  const workload = workloadNamed(target.type);
  if (workload === undefined) return new Map();
  const revisions = await revisionsOf(access, workload, stored);
  return describeRevisions(revisions, await workload.revised());
}

/** `revisions`: lowest number first. */
export function describeRevisions(
  revisions: readonly Revision[],
  revised: Pick<Revised, "images">,
): ReadonlyMap<string, RevisionItem> {
  const items = revisions.map((revision, index) => {
    const item = revisionItem(revision, revisions[index - 1], revised);
    return [`revision/${revision.name}`, item] as const;
  });
  return new Map(items.slice(-mostRevisions));
}

function revisionItem(
  { number, name, changeCause = "", spec, object }: Revision,
  before: Revision | undefined,
  { images }: Pick<Revised, "images">,
): RevisionItem {
  const changes = before === undefined ? [] : fieldChanges(before.spec, spec);
  const createdAt = timeAt(object, "metadata", "creationTimestamp");
  return {
    is: "revision",
    number,
    revision: revisionEnd(name),
    cause: shownText(changeCause),
    images: images(spec)
      .slice(0, mostImages)
      .map((image) => shownText(image)),
    ...(createdAt === undefined ? {} : { createdAt }),
    ...(before === undefined ? {} : { since: before.number }),
    changes: changes.slice(0, mostChanges),
    moreChanges: Math.max(0, changes.length - mostChanges),
  };
}
