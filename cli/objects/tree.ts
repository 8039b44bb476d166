import { listAll } from "../../kube/index.ts";
import type { Call, ClusterAccess, Command } from "../command.ts";
import { controllerNamespace } from "../controller_namespace.ts";
import { type AnyObject, textAt } from "../fields.ts";
import { targetOrWorkload } from "../named_workload.ts";
import { answerFlag, answerFormat, printObject } from "../object_output.ts";
import { objectResource, type ResourceType } from "../resource_types.ts";
import { readTarget } from "../target.ts";
import { age, textTable } from "../text_table.ts";
import { treeFacts } from "./tree_facts.ts";

/** What workloads own, at any depth; kinds that the server lacks are left out. */
const ownedKinds: readonly (readonly [string, readonly string[]])[] = [
  ["", ["Pod", "PersistentVolumeClaim"]],
  ["apps", ["ControllerRevision", "ReplicaSet", "StatefulSet", "Deployment"]],
  ["batch", ["Job"]],
  [
    "apps.kruise.io",
    ["CloneSet", "StatefulSet", "DaemonSet", "BroadcastJob", "ImageListPullJob", "ImagePullJob"],
  ],
];

export const tree: Command = {
  name: "tree",
  summary: "Show what an object owns, and what that owns in turn.",
  usage: "TYPE/NAME|NAME",
  details: `Under a SidecarSet stand the pods that carry its sidecars, too, under a WorkloadSpread those that it placed, under a
PodUnavailableBudget those that it protects, and under a ResourceDistribution its copies in all namespaces. With -o the
tree is printed as one object.
Exit codes:
  0  the tree was printed
  1  the object does not exist, or what it owns could not be read`,
  examples: ["refit tree clone/sample", "refit tree sidecarset/proxy"],
  flags: answerFlag,
  async run(call) {
    const format = answerFormat(call);
    const target = await targetOrWorkload(call);
    const access = await call.cluster();
    const root = await readTarget(access, target);
    const children = childrenByOwner(
      root.kind === "ResourceDistribution"
        ? await copiesOf(access, root)
        : await ownedObjects(access, root.metadata.namespace),
      await parentsUnder(access, root),
    );
    if (format !== undefined) {
      printObject(call, treeAnswer(children, root), format);
      return 0;
    }
    const rows: string[][] = [];
    addRows(call, rows, children, root, { first: "", others: "" });
    const header = ["NAMESPACE", "NAME", "READY", "REASON", "AGE", "REVISION", "NODE", "IMAGES"];
    for (const line of textTable(header, rows)) call.print(line);
    return 0;
  },
};

async function ownedObjects(access: ClusterAccess, namespace: string | undefined): Promise<AnyObject[]> {
  const types: ResourceType[] = [];
  for (const [group, kinds] of ownedKinds) {
    for (const kind of kinds) {
      const type = await access.types.findKind(group, kind);
      if (type !== undefined) types.push(type);
    }
  }
  const scope = namespace === undefined ? {} : { namespace };
  const lists = await Promise.all(types.map((type) => listAll(access.client, objectResource(type), scope)));
  return lists.flat();
}

/** Copies of a ResourceDistribution, in any namespace: only objects of that name are read. */
async function copiesOf(access: ClusterAccess, { spec }: AnyObject): Promise<AnyObject[]> {
  const name = textAt(spec, "resource", "metadata", "name") ?? "";
  const copied = textAt(spec, "resource", "kind");
  if (name === "" || (copied !== "ConfigMap" && copied !== "Secret")) return [];
  const type = await access.types.findKind("", copied);
  if (type === undefined) return [];
  return listAll(access.client, objectResource(type), { fieldSelector: `metadata.name=${name}` });
}

type Children = ReadonlyMap<string, readonly AnyObject[]>;

function childrenByOwner(objects: readonly AnyObject[], parentsOf: ParentsOf): Children {
  const children = new Map<string, AnyObject[]>();
  for (const object of objects) {
    for (const parent of parentsOf(object)) {
      const siblings = children.get(parent);
      if (siblings === undefined) children.set(parent, [object]);
      else siblings.push(object);
    }
  }
  for (const siblings of children.values()) siblings.sort((a, b) => (labelOf(a) < labelOf(b) ? -1 : 1));
  return children;
}

/** Keys of what an object stands under. */
type ParentsOf = (object: AnyObject) => readonly string[];

/** An owner is a UID in a namespace: what names it from another one is not its own. */
function parentKey({ namespace = "", uid = "" }: Pick<AnyObject["metadata"], "namespace" | "uid">): string {
  return `${namespace}/${uid}`;
}

/** Pods that they select or mark stand under them, although others own them. */
const carriers: ReadonlySet<string> = new Set(["SidecarSet", "WorkloadSpread", "PodUnavailableBudget"]);

async function parentsUnder(access: ClusterAccess, root: AnyObject): Promise<ParentsOf> {
  const { apiVersion = "", kind = "", metadata } = root;
  const rootKey = parentKey(metadata);
  // What a ResourceDistribution has is everywhere.
  const place = kind === "SidecarSet" ? await controllerNamespace(access) : undefined;
  const ownersOf: ParentsOf = ({ metadata: { namespace = "", ownerReferences = [] } }) =>
    ownerReferences.map(({ uid }) => {
      const isOfRoot = metadata.namespace === undefined && uid === metadata.uid;
      return isOfRoot && namespace === (place ?? namespace) ? rootKey : parentKey({ namespace, uid });
    });
  if (!carriers.has(kind)) return ownersOf;
  // Loaded when needed: it brings the schemas of all kinds.
  const { podSourceOf } = await import("../why/causes/pod_sources.ts");
  const [group = ""] = apiVersion.split("/");
  const source = podSourceOf({ group, kind });
  return (object) =>
    object.kind === "Pod" && source?.carries?.(object, root) === true
      ? [...ownersOf(object), rootKey]
      : ownersOf(object);
}

const labelOf = (object: AnyObject): string => `${object.kind ?? ""}/${object.metadata.name ?? ""}`;

/** The documented form: docs/troubleshooting.md, "For scripts". Fields that do not apply are absent. */
function treeAnswer(children: Children, object: AnyObject): object {
  const { apiVersion = "", kind, metadata } = object;
  const { namespace, name, creationTimestamp } = metadata;
  const { ready, reason, revision, node, images } = treeFacts(object);
  const below = children.get(parentKey(metadata)) ?? [];
  return {
    object: {
      group: apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "",
      kind,
      ...(namespace === undefined ? {} : { namespace }),
      name,
    },
    ...Object.fromEntries(
      Object.entries({ ready, reason, revision, node }).filter(([, text]) => text !== ""),
    ),
    ...(images.length === 0 ? {} : { images }),
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    children: below.map((child) => treeAnswer(children, child)),
  };
}

/** The strokes before a row, and before the rows below it. */
interface Strokes {
  readonly first: string;
  readonly others: string;
}

function addRows(
  call: Call,
  rows: string[][],
  children: Children,
  object: AnyObject,
  strokes: Strokes,
): void {
  const { ready, reason, revision, node, images } = treeFacts(object);
  const created = Date.parse(object.metadata.creationTimestamp ?? "");
  const ageText = Number.isNaN(created) ? "" : age(call.host.clock.now() - created);
  const colour = ready === "" ? "dim" : isReady(ready) ? "green" : "yellow";
  const label = call.paint("dim", strokes.first) + labelOf(object);
  const state = call.paint(colour, ready || "-");
  rows.push([
    object.metadata.namespace ?? "",
    label,
    state,
    reason,
    ageText,
    revision,
    node,
    images.join(","),
  ]);
  const below = children.get(parentKey(object.metadata)) ?? [];
  for (const [index, child] of below.entries()) {
    const isLast = index === below.length - 1;
    addRows(call, rows, children, child, {
      first: `${strokes.others}${isLast ? "└─" : "├─"}`,
      others: `${strokes.others}${isLast ? "  " : "│ "}`,
    });
  }
}

/** `True`, or `3/3`. */
function isReady(ready: string): boolean {
  const [have, wanted] = ready.split("/");
  return wanted === undefined ? have === "True" : Number(have) >= Number(wanted);
}
