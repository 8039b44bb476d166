/** What is to be done in one namespace. Pure. Spec: resourcedistribution 4.2, 4.3. */
import {
  contentOf,
  contentProblem,
  type DistributedContent,
  type DistributedKind,
  distributedIdentity,
  distributedKind,
  type ResourceDistribution,
  validateDistributedResource,
} from "../../../crds/index.ts";
import {
  formatFieldErrors,
  goJson,
  isJsonObject,
  type JsonObject,
  type Labels,
} from "../../../kube/core/index.ts";
import { objectAt, objectsAt, textsAt } from "../../native/json_fields.ts";
import type { ObjectBody } from "../../plan/effects.ts";
import { ownerReference } from "../../rollout/pods/pod_manifest.ts";
import { type Copy, contentHash, sha256 } from "./copies.ts";
import { type Targets, targetsOf } from "./targets.ts";

const FROM = "kruise.io/resourcedistribution.resource.from";
const HASH = "kruise.io/resourcedistribution.resource.hashcode";

/** In the order of the status (rule 16). */
export const failureTypes = [
  "GetResourceFailed",
  "CreateResourceFailed",
  "UpdateResourceFailed",
  "DeleteResourceFailed",
  "ConflictOccurred",
  "NamespaceNotExists",
] as const;
export type FailureType = (typeof failureTypes)[number];

export interface Failure {
  readonly type: FailureType;
  readonly reason: string;
}

/** A distribution, read once a generation. */
export interface ParsedDistribution {
  readonly uid: string;
  readonly targets: Targets;
  /** A sentence where there is nothing that could be written. */
  readonly source: Source | { readonly problem: string };
}

/** What goes into every copy. */
export interface Source {
  readonly kind: DistributedKind;
  readonly name: string;
  readonly content: DistributedContent;
  /** `contentHash` of it. */
  readonly hash: string;
  readonly labels: Labels;
  /** With both that say where a copy is from. */
  readonly annotations: Labels;
  readonly finalizers: readonly string[];
  /** Those that the user gave, and the distribution as controller. */
  readonly owners: readonly object[];
  /** Whether the user gave any. */
  readonly hasOwners: boolean;
}

/** A namespace and what is there under the name of the copy. */
export interface ObservedNamespace {
  readonly name: string;
  /** Undefined where there is no such namespace. */
  readonly namespace: { readonly labels: Labels; readonly deleting: boolean } | undefined;
  readonly copy: Copy | undefined;
}

export type Write =
  | { readonly type: "create"; readonly body: ObjectBody }
  | { readonly type: "update"; readonly copy: Copy; readonly body: object }
  | { readonly type: "delete"; readonly copy: Copy };

export interface NamespacePlan {
  /** Whether the distribution is for the namespace. */
  readonly target: boolean;
  readonly write?: Write;
  /** A copy that is to go stays for as long as there is no such namespace, or only one that is going itself. */
  readonly left?: true;
  /** What keeps the copy from being in place, and no write of ours could change. */
  readonly failure?: Failure;
}

/** Throws ParseError for a selector that cannot be read. */
export function parseDistribution(distribution: ResourceDistribution): ParsedDistribution {
  const { metadata, spec } = distribution;
  const { uid = "" } = metadata;
  return { uid, targets: targetsOf(spec), source: sourceOf(distribution) };
}

function sourceOf(distribution: ResourceDistribution): ParsedDistribution["source"] {
  const { name = "", uid = "" } = distribution.metadata;
  const resource: unknown = distribution.spec.resource;
  const identity = distributedIdentity(resource);
  const kind = distributedKind(identity);
  const errors = validateDistributedResource(distribution, undefined);
  if (errors.length > 0 || kind === undefined || !isJsonObject(resource))
    return { problem: formatFieldErrors(errors) };
  const problem = contentProblem(resource);
  if (problem !== undefined) return { problem: `spec.resource is invalid: ${problem}` };
  const metadata = objectAt(resource, "metadata");
  const content = contentOf(kind, resource);
  const given = objectsAt(metadata, "ownerReferences");
  return {
    kind,
    name: identity.name,
    content,
    hash: contentHash(content),
    labels: textsAt(metadata, "labels"),
    annotations: { ...textsAt(metadata, "annotations"), [FROM]: name, [HASH]: sourceHash(resource) },
    finalizers: textList(metadata["finalizers"]),
    owners: [...given, ownerReference("ResourceDistribution", name, uid)],
    hasOwners: given.length > 0,
  };
}

/** Of `spec.resource` as the API serves it: compact, its keys in order. */
function sourceHash(resource: JsonObject): string {
  return sha256(goJson(resource, { sortKeys: true }));
}

/** One namespace, whatever the others are like. */
export function planNamespace(
  wanted: ParsedDistribution,
  { name, namespace, copy }: ObservedNamespace,
): NamespacePlan {
  const isUsable = namespace !== undefined && !namespace.deleting;
  const isOwn = copy !== undefined && copy.controllerUid === wanted.uid && wanted.uid !== "";
  if (!wanted.targets.includes(name, namespace?.labels)) {
    if (!isOwn || copy.deleting) return { target: false };
    if (!isUsable) return { target: false, left: true };
    return { target: false, write: { type: "delete", copy } };
  }
  if (!isUsable) return failed("NamespaceNotExists", "namespace not found or is terminating");
  const { source } = wanted;
  if ("problem" in source)
    return failed(isOwn ? "UpdateResourceFailed" : "CreateResourceFailed", source.problem);
  if (copy === undefined) return { target: true, write: { type: "create", body: newCopy(source) } };
  if (!isOwn) {
    const words =
      "conflict with existing resources because of the same namespace, group, version, kind and name";
    return failed("ConflictOccurred", words);
  }
  if (copy.content === source.hash) return { target: true };
  return { target: true, write: { type: "update", copy, body: changedCopy(source, copy) } };
}

function failed(type: FailureType, reason: string): NamespacePlan {
  return { target: true, failure: { type, reason } };
}

/** Rule 12. */
function newCopy(source: Source): ObjectBody {
  const { labels, annotations, finalizers, owners, content } = source;
  const metadata = { labels, annotations, finalizers, ownerReferences: owners };
  return { metadata, ...content };
}

/**
 * A merge patch, of this very version of the copy: what others have added to its metadata stays, and nobody's takeover is
 * overwritten. Rule 13.
 */
function changedCopy(source: Source, copy: Copy): object {
  const { labels, annotations, finalizers, owners, hasOwners, content } = source;
  const { uid, resourceVersion } = copy;
  const lists = {
    // A list is replaced as a whole.
    ...(finalizers.length > 0
      ? { finalizers: [...new Set([...copy.finalizers, ...finalizers])].sort() }
      : {}),
    ...(hasOwners ? { ownerReferences: owners } : {}),
  };
  const { type, immutable = null, data = {}, binaryData = {} } = content;
  return {
    metadata: { uid, resourceVersion, labels, annotations, ...lists },
    ...(type === undefined ? {} : { type }),
    immutable,
    data: replacing(copy.keys, data),
    ...(source.kind === "ConfigMap" ? { binaryData: replacing(copy.binaryKeys, binaryData) } : {}),
  };
}

/** The merge patch that leaves exactly `values`. */
function replacing(keys: readonly string[], values: Labels): Readonly<Record<string, string | null>> {
  const gone = keys.filter((key) => !Object.hasOwn(values, key)).map((key) => [key, null] as const);
  return Object.fromEntries([...gone, ...Object.entries(values)]);
}

function textList(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
