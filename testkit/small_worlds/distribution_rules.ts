/** What the controller of a ResourceDistribution may do, and what has to be there in the end. Spec: resourcedistribution 4. */
import { objectAt } from "../../controller/native/json_fields.ts";
import { controllerIn } from "../../controller/native/owners.ts";
import type { ResourceDistribution } from "../../crds/index.ts";
import { type JsonObject, jsonEqual } from "../../kube/core/index.ts";
import type { Namespace } from "../../kube/index.ts";
import { controllerUidOf, type Server } from "./distribution_server.ts";
import type { Doing } from "./heard_distributions.ts";
import type { Request } from "./pending_requests.ts";

type Namespaces = ReadonlyMap<string, Namespace>;

/** Section 4.1. */
function targetsIn({ spec }: ResourceDistribution, namespaces: Namespaces): string[] {
  const { allNamespaces, includedNamespaces, excludedNamespaces, namespaceSelector } = spec.targets;
  const listed = (list: typeof includedNamespaces) => (list?.list ?? []).flatMap(({ name }) => name ?? []);
  const wanted = Object.entries(namespaceSelector?.matchLabels ?? {});
  const isSelected = ({ labels }: Namespace): boolean =>
    wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value);
  const existing = [...namespaces.values()].filter((one) => allNamespaces === true || isSelected(one));
  const included = allNamespaces === true ? [] : listed(includedNamespaces);
  const all = new Set([...existing.map(({ name }) => name), ...included]);
  return [...all].filter((name) => !listed(excludedNamespaces).includes(name)).sort();
}

function dataOf({ spec }: ResourceDistribution): JsonObject {
  return objectAt(Object(spec.resource), "data");
}

/** Rules 10 and 13: whether a copy holds what it should. */
function isInPlace(copy: JsonObject | undefined, distribution: ResourceDistribution): boolean {
  return (
    copy !== undefined &&
    controllerUidOf(copy) === distribution.metadata.uid &&
    jsonEqual(objectAt(copy, "data"), dataOf(distribution))
  );
}

/** What is about to be sent. `planned`: with what the controller knew. */
export function checkRequest(
  request: Request,
  { distribution, namespaces }: Doing,
  isConfirmed: boolean,
): void {
  const { verb, namespace, body, uid, resourceVersion } = request;
  if (verb === "get" || namespace === "") return;
  const what = `${verb} in ${namespace}`;
  if (distribution === undefined) throw new Error(`${what} for nobody`);
  const isTarget = targetsIn(distribution, namespaces).includes(namespace);
  const found = namespaces.get(namespace);
  // Rules 6 and 14: neither into a namespace that is missing or terminating, nor out of one.
  if (found === undefined || found.deletionAt !== undefined) throw new Error(`${what}, which is not there`);
  if ((verb === "delete") === isTarget) throw new Error(`${what}, which is ${isTarget ? "a" : "no"} target`);
  if (verb !== "create" && (uid === "" || resourceVersion === "")) throw new Error(`${what} of any object`);
  if (verb === "create" && !isConfirmed) throw new Error(`${what} unconfirmed`);
  if (verb === "delete") return;
  // Rule 12; a merge patch names values that go.
  const data = Object.entries(objectAt(body, "data")).filter(([, value]) => value !== null);
  if (!jsonEqual(Object.fromEntries(data), dataOf(distribution))) throw new Error(`${what} with other data`);
  const metadata = objectAt(body, "metadata");
  const from = objectAt(metadata, "annotations")["kruise.io/resourcedistribution.resource.from"];
  if (from !== distribution.metadata.name) throw new Error(`${what} from ${from}`);
  if (verb === "create" && controllerIn(metadata)?.uid !== distribution.metadata.uid)
    throw new Error(`${what} without its owner`);
}

/** A write that the server is about to carry out. Rules 9, 10 and 14. */
export function checkWrite({ verb, namespace, body }: Request, stored: JsonObject): void {
  if (controllerIn(objectAt(stored, "metadata"))?.name !== "d")
    throw new Error(`${verb} of somebody's in ${namespace}`);
  if (verb !== "patch") return;
  const changes = Object.entries(objectAt(body, "data")).filter(
    ([key, value]) => (objectAt(stored, "data")[key] ?? null) !== value,
  );
  if (changes.length === 0) throw new Error(`the patch in ${namespace} changes nothing`);
}

/** Of a controller that has seen everything: a copy counts once it is there (section 3). */
export function checkStatus({ distribution, copies }: Server, { body }: Request): void {
  if (distribution === undefined) return;
  const { succeeded = distribution.status?.succeeded ?? 0 } = objectAt(body, "status");
  const present = [...copies.values()].filter((copy) => isInPlace(copy, distribution)).length;
  if (Number(succeeded) > present) throw new Error(`${succeeded} copies are reported, there are ${present}`);
}

/** Section 4.4: why it failed, by namespace. */
function failuresIn(server: Server, distribution: ResourceDistribution, targets: readonly string[]) {
  const failures: Record<string, string[]> = {};
  for (const name of targets) {
    const failure = failureIn(server, distribution, name);
    if (failure !== undefined) failures[failure] = [...(failures[failure] ?? []), name];
  }
  return failures;
}

function failureIn(
  { namespaces, copies, full, mayList }: Server,
  distribution: ResourceDistribution,
  name: string,
): string | undefined {
  const namespace = namespaces.get(name);
  const copy = copies.get(name);
  if (!mayList) return "GetResourceFailed";
  if (namespace === undefined || namespace.deletionAt !== undefined) return "NamespaceNotExists";
  if (copy === undefined) return full.includes(name) ? "CreateResourceFailed" : undefined;
  return controllerUidOf(copy) === distribution.metadata.uid ? undefined : "ConflictOccurred";
}

/** What is wrong when nothing is under way; undefined: all is as it was asked for. */
export function wrongWith(server: Server): string | undefined {
  const { distribution, namespaces, copies } = server;
  const ours = [...copies].filter(([, copy]) => controllerIn(objectAt(copy, "metadata"))?.name === "d");
  // Rule 15.
  if (distribution === undefined) return ours.length === 0 ? undefined : `${ours.length} copies of nobody`;
  const targets = targetsIn(distribution, namespaces);
  const failures = failuresIn(server, distribution, targets);
  const failed = Object.values(failures).flat();
  const lacking = targets.filter(
    (name) => !failed.includes(name) && !isInPlace(copies.get(name), distribution),
  );
  if (lacking.length > 0) return `no copy in ${lacking}`;
  // Rule 14.
  const left = ours.filter(([name]) => !targets.includes(name));
  if (left.length > 0 && server.mayList) return `a copy left in ${left.map(([name]) => name)}`;
  return wrongStatus(distribution, targets.length, failures);
}

const types = [
  "GetResourceFailed",
  "CreateResourceFailed",
  "UpdateResourceFailed",
  "DeleteResourceFailed",
  "ConflictOccurred",
  "NamespaceNotExists",
];

/** Sections 3 and 4.4. */
function wrongStatus(
  { metadata, status = {} }: ResourceDistribution,
  desired: number,
  failures: Readonly<Record<string, readonly string[]>>,
): string | undefined {
  const failed = Object.values(failures).flat().length;
  const counted = (count: number): number | undefined => (count === 0 ? undefined : count);
  const counts = [counted(desired), counted(desired - failed), counted(failed), metadata.generation];
  const found = [status.desired, status.succeeded, status.failed, status.observedGeneration];
  if (!jsonEqual(found, counts)) return `the counts ${JSON.stringify(found)} of ${JSON.stringify(counts)}`;
  const conditions = types.map((type) => [
    type,
    failures[type] === undefined ? "False" : "True",
    failures[type],
  ]);
  const reported = (status.conditions ?? []).map((each) => [
    each.type,
    each.status,
    "failedNamespaces" in each ? each.failedNamespaces : undefined,
  ]);
  return jsonEqual(reported, conditions) ? undefined : `the conditions ${JSON.stringify(reported)}`;
}
