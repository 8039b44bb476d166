/** Resource names and amounts of containers and pods. */
import { invalid, keyPath, notSupported } from "../../field_errors.ts";
import { compareBytes } from "../../go_text.ts";
import { dnsLabelErrors, qualifiedNameErrors } from "../../names.ts";
import {
  canonicalQuantity,
  isQuantity,
  parseQuantity,
  quantityCompare,
  quantityEqual,
} from "../../quantity.ts";
import type { FieldError } from "../../types.ts";
import { aggregateResources } from "../pod_resources.ts";
import type { Cursor } from "./cursor.ts";

const HUGE_PAGES = "hugepages-";
const containerResources = ["cpu", "memory", "ephemeral-storage"];
/** Names without a domain that mean something somewhere, mostly in quotas. */
const standardResources: ReadonlySet<string> = new Set(
  `cpu memory ephemeral-storage requests.cpu requests.memory requests.ephemeral-storage limits.cpu limits.memory
   limits.ephemeral-storage pods resourcequotas services replicationcontrollers secrets configmaps
   persistentvolumeclaims storage requests.storage services.nodeports services.loadbalancers`.split(/\s+/),
);
const countedResources: ReadonlySet<string> = new Set(
  `pods resourcequotas services replicationcontrollers secrets configmaps persistentvolumeclaims
   services.nodeports services.loadbalancers`.split(/\s+/),
);

const isNative = (name: string) => !name.includes("/") || name.includes("kubernetes.io/");
const isHugePages = (name: string) => name.startsWith(HUGE_PAGES);
const isStandard = (name: string) => standardResources.has(name) || isHugePages(name);

/** Resources of devices, which come in whole numbers: `example.com/gpu`. */
export function isExtendedResource(name: string): boolean {
  return (
    !isNative(name) && !name.startsWith("requests.") && qualifiedNameErrors(`requests.${name}`).length === 0
  );
}

function mayOvercommit(name: string): boolean {
  return isNative(name) && !isHugePages(name);
}

type NameRule = (name: string, path: string) => FieldError[];

export function validateContainerResources(container: Cursor, podClaims: ReadonlySet<string>): void {
  const resources = container.object("resources");
  if (resources !== undefined) validateRequirements(resources, containerNameErrors, podClaims);
}

/** Resources of the pod as a whole. */
export function validatePodResources(spec: Cursor, podClaims: ReadonlySet<string>): void {
  const resources = spec.object("resources");
  if (resources === undefined) return;
  if (spec.object("os")?.text("name") === "windows") {
    spec.forbidden("resources", "may not be set for a windows pod");
    return;
  }
  if (resources.has("claims"))
    resources.forbidden("claims", "claims may not be set for Resources at pod-level");
  validateRequirements(resources, podNameErrors, podClaims);
  validateShares(spec, resources);
}

/** The containers must fit into what the pod as a whole has. */
function validateShares(spec: Cursor, resources: Cursor): void {
  const limits = resources.object("limits")?.value ?? {};
  for (const list of ["requests", "limits"] as const) {
    const ofPod = resources.object(list)?.value ?? {};
    for (const [name, sum] of Object.entries(aggregateResources(spec.value, list))) {
      const whole = ofPod[name];
      if (!isQuantity(whole) || (list === "limits" && !isHugePages(name)) || quantityCompare(sum, whole) <= 0)
        continue;
      const detail = `must be greater than or equal to aggregate container ${list} of ${sum}`;
      resources.invalid(keyPath(list, name), canonicalQuantity(whole), detail);
    }
  }
  spec.objects("containers").forEach((container, index) => {
    for (const [name, limit] of amounts(container.object("resources")?.object("limits"))) {
      const whole = limits[name];
      if (!isQuantity(whole) || !isQuantity(limit) || quantityCompare(limit, whole) <= 0) continue;
      const detail = `must be less than or equal to pod limits of ${canonicalQuantity(whole)}`;
      resources.invalid(`containers[${index}][${name}].limits`, canonicalQuantity(limit), detail);
    }
  });
}

/** `overhead` of a pod: its names and amounts are those of container limits. */
export function validateOverhead(spec: Cursor): void {
  const overhead = spec.object("overhead");
  if (overhead === undefined) return;
  for (const [name, value] of amounts(overhead))
    validateAmount(overhead, "limits", name, value, containerNameErrors);
}

function amounts(list: Cursor | undefined): [string, unknown][] {
  return Object.entries(list?.value ?? {}).sort(([left], [right]) => compareBytes(left, right));
}

function validateRequirements(resources: Cursor, nameRule: NameRule, podClaims: ReadonlySet<string>): void {
  const limits = resources.object("limits");
  const requests = resources.object("requests");
  for (const [name, value] of amounts(limits)) validateAmount(resources, "limits", name, value, nameRule);
  for (const [name, value] of amounts(requests)) {
    validateAmount(resources, "requests", name, value, nameRule);
    compareWithLimit(resources, name, value, limits?.value[name]);
  }
  const names = [...amounts(limits), ...amounts(requests)].map(([name]) => name);
  if (names.some(isHugePages) && !names.some((name) => name === "cpu" || name === "memory")) {
    resources.forbidden("", "HugePages require cpu or memory");
  }
  validateClaims(resources, podClaims);
}

function validateAmount(
  resources: Cursor,
  list: string,
  name: string,
  value: unknown,
  nameRule: NameRule,
): void {
  const at = keyPath(list, name);
  resources.add(...nameRule(name, resources.at(at)));
  if (!isQuantity(value)) return;
  const text = canonicalQuantity(value);
  const { nano } = parseQuantity(value);
  if (nano < 0n) resources.invalid(at, text, "must be greater than or equal to 0");
  if ((countedResources.has(name) || isExtendedResource(name)) && nano % 1_000_000_000n !== 0n) {
    resources.invalid(at, text, "must be an integer");
  }
  if (isHugePages(name) && !isMultiple(nano, name.slice(HUGE_PAGES.length))) {
    resources.invalid(at, text, `${text} is not positive integer multiple of ${name}`);
  }
}

function isMultiple(nano: bigint, pageSize: string): boolean {
  if (!isQuantity(pageSize)) return false;
  const page = parseQuantity(pageSize).nano;
  return page > 0n && page % 1_000_000_000n === 0n && nano % page === 0n;
}

function compareWithLimit(resources: Cursor, name: string, value: unknown, limit: unknown): void {
  if (!isQuantity(value)) return;
  if (!isQuantity(limit)) {
    if (!mayOvercommit(name))
      resources.required("limits", "Limit must be set for non overcommitable resources");
    return;
  }
  const text = canonicalQuantity(value);
  const limitText = canonicalQuantity(limit);
  if (!quantityEqual(value, limit) && !mayOvercommit(name)) {
    resources.invalid("requests", text, `must be equal to ${name} limit of ${limitText}`);
  } else if (quantityCompare(value, limit) > 0) {
    resources.invalid("requests", text, `must be less than or equal to ${name} limit of ${limitText}`);
  }
}

function baseNameErrors(name: string, path: string): FieldError[] {
  const complaints = qualifiedNameErrors(name);
  if (complaints.length === 0 && !name.includes("/") && !isStandard(name)) {
    complaints.push("must be a standard resource type or fully qualified");
  }
  return complaints.map((detail) => invalid(path, name, detail));
}

function containerNameErrors(name: string, path: string): FieldError[] {
  const errors = baseNameErrors(name, path);
  const add = (detail: string) => errors.push(invalid(path, name, detail));
  if (!name.includes("/")) {
    if (!containerResources.includes(name) && !isHugePages(name))
      add("must be a standard resource for containers");
  } else if (!isNative(name) && !isExtendedResource(name)) {
    add("doesn't follow extended resource name standard");
  }
  return errors;
}

function podNameErrors(name: string, path: string): FieldError[] {
  const errors = baseNameErrors(name, path);
  if (errors.length > 0 || name === "cpu" || name === "memory" || isHugePages(name)) return errors;
  return [notSupported(path, name, ["cpu", HUGE_PAGES, "memory"])];
}

function validateClaims(resources: Cursor, podClaims: ReadonlySet<string>): void {
  const names = new Set<string>();
  const partly = new Set<string>();
  const known = claimList(podClaims);
  for (const claim of resources.objects("claims")) {
    const name = claim.text("name");
    const request = claim.text("request");
    if (name === "") {
      claim.required("");
      continue;
    }
    const key = request === "" ? name : `${name}/${request}`;
    if (request !== "") claim.complain("request", request, dnsLabelErrors(request));
    const whole = request === "" && partly.has(name);
    if (request !== "") partly.add(name);
    if (names.has(name) || names.has(key) || whole) claim.duplicate("", names.has(name) ? name : key);
    names.add(key);
    if (podClaims.has(name)) continue;
    const detail = `must be one of the names in pod.spec.resourceClaims${known}`;
    claim.add({ path: claim.path, type: "NotFound", value: name, detail });
  }
}

/** Repeated in each complaint: a long one would make many megabytes of a few thousand claims. */
function claimList(podClaims: ReadonlySet<string>): string {
  if (podClaims.size === 0) return " which is empty";
  return podClaims.size > MOST_LISTED ? "" : `: ${[...podClaims].sort(compareBytes).join(", ")}`;
}

const MOST_LISTED = 100;
