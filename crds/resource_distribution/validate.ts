/** What admission refuses in a ResourceDistribution, in the API's words. Spec: resourcedistribution 6. */

import {
  compileSelector,
  dnsLabelErrors,
  type FieldError,
  formatFieldErrors,
  invalid,
  isJsonObject,
  type JsonObject,
  required,
} from "../../kube/core/index.ts";
import type { Draft } from "../kind_reader.ts";
import { member, textMember } from "../members.ts";
import { ratcheted } from "../ratchet.ts";
import { parseProblem } from "../rules.ts";
import { contentErrors, type DistributedKind, distributedKinds } from "./content.ts";
import type { ResourceDistribution, ResourceDistributionSpec } from "./schema.ts";

type Targets = ResourceDistributionSpec["targets"];
type NamespaceList = NonNullable<Targets["includedNamespaces"]>;

const RESOURCE = "spec.resource";
const TARGETS = "spec.targets";

/** What the object to distribute is called. */
export interface DistributedIdentity {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
}

/** Of any JSON; what is missing or no text is empty. */
export function distributedIdentity(resource: unknown): DistributedIdentity {
  const object = isJsonObject(resource) ? resource : {};
  const name = textMember(member(object, "metadata"), "name");
  return { apiVersion: textMember(object, "apiVersion"), kind: textMember(object, "kind"), name };
}

/** Undefined for what cannot be distributed. */
export function distributedKind({ apiVersion, kind }: DistributedIdentity): DistributedKind | undefined {
  return apiVersion.includes("/") ? undefined : distributedKinds.find((each) => each === kind);
}

/** Mistakes of `spec.resource` alone, and, on an update, of the change from `old`. With any, it is not tried out. */
export const validateDistributedResource = ratcheted(resourceErrors);

function resourceErrors(
  { spec }: Draft<ResourceDistribution>,
  old: Draft<ResourceDistribution> | undefined,
): FieldError[] {
  const resource: unknown = spec?.resource;
  if (!isJsonObject(resource) || Object.keys(resource).length === 0)
    return [invalid(RESOURCE, "null", "empty resource is not allowed")];
  const identity = distributedIdentity(resource);
  const errors: FieldError[] = [];
  if (distributedKind(identity) === undefined) {
    const supported = distributedKinds.join(" ");
    const words = `unknown or unsupported resource GroupKind, only support [${supported}]`;
    errors.push(invalid(RESOURCE, undefined, `${groupKindText(identity)}: ${words}`));
  } else if (identity.name === "") {
    errors.push(required(`${RESOURCE}.metadata.name`, "copies are found by their name"));
  }
  const before = old?.spec && distributedIdentity(old.spec.resource);
  if (before !== undefined && !isSame(before, identity))
    errors.push(invalid(RESOURCE, "null", "resource apiVersion, kind, and name are immutable"));
  return errors;
}

/** What no API server would store of a resource that has the right kind, as one sentence; undefined: nothing. */
export function contentProblem(resource: JsonObject): string | undefined {
  const kind = distributedKind(distributedIdentity(resource));
  const errors = kind === undefined ? [] : contentErrors(kind, resource);
  return errors.length === 0 ? undefined : formatFieldErrors(errors);
}

/** `spec.resource` that the server, or `contentProblem`, found invalid. */
export function invalidResource(problem: string): FieldError {
  // Without the value: it may be secret.
  return invalid(RESOURCE, "null", `spec.resource is invalid: ${problem}`);
}

export const validateDistributionTargets = ratcheted(targetsErrors);

function targetsErrors({ spec }: Draft<ResourceDistribution>): FieldError[] {
  const targets = spec?.targets ?? {};
  const { includedNamespaces, excludedNamespaces, namespaceSelector } = targets;
  const errors = [
    ...nameErrors(`${TARGETS}.includedNamespaces`, includedNamespaces),
    ...nameErrors(`${TARGETS}.excludedNamespaces`, excludedNamespaces),
  ];
  const excluded = new Set(listedNamespaces(excludedNamespaces));
  const both = [...new Set(listedNamespaces(includedNamespaces))].filter((name) => excluded.has(name));
  if (both.length > 0) {
    const words = `ambiguous targets because namespace [${both.join(" ")}] is in both IncludedNamespaces.List and ExcludedNamespaces.List`;
    errors.push(invalid(TARGETS, targets, words));
  }
  const problem = parseProblem(() => compileSelector(namespaceSelector));
  if (problem !== undefined) {
    const words = `labelSelectorAsSelector error: ${problem}`;
    errors.push(invalid(`${TARGETS}.namespaceSelector`, namespaceSelector, words));
  }
  return errors;
}

/** Names in a list of namespaces, in its order. */
export function listedNamespaces(namespaces: NamespaceList | undefined | null): string[] {
  return (namespaces?.list ?? []).map(({ name }) => name ?? "");
}

function nameErrors(path: string, namespaces: NamespaceList | undefined): FieldError[] {
  return listedNamespaces(namespaces).flatMap((name) =>
    dnsLabelErrors(name).map((message) => invalid(path, name, message)),
  );
}

/** `Deployment.apps`; the core group is not written. */
function groupKindText({ apiVersion, kind }: DistributedIdentity): string {
  const [group = "", version] = apiVersion.split("/", 2);
  return version === undefined ? kind : `${kind}.${group}`;
}

function isSame(a: DistributedIdentity, b: DistributedIdentity): boolean {
  return a.apiVersion === b.apiVersion && a.kind === b.kind && a.name === b.name;
}
