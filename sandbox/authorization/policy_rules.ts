/** Rules of roles: what one allows, and whether some grant all that others do. Pure. */
import { compareBytes, goQuote } from "../../kube/core/index.ts";
import { objectsAt, textsAt } from "../json.ts";
import { type Attributes, isResourceRequest, type ResourceAttributes } from "./attributes.ts";

export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

/** The rules of a Role or ClusterRole; what is malformed in them grants nothing. */
export function rulesOf(role: unknown): readonly PolicyRule[] {
  return objectsAt(role, "rules").map((rule) => ({
    verbs: textsAt(rule, "verbs"),
    apiGroups: textsAt(rule, "apiGroups"),
    resources: textsAt(rule, "resources"),
    resourceNames: textsAt(rule, "resourceNames"),
    nonResourceURLs: textsAt(rule, "nonResourceURLs"),
  }));
}

export function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!includesOrAll(rule.verbs, attributes.verb)) return false;
  if (!isResourceRequest(attributes)) {
    return rule.nonResourceURLs.some((pattern) => pathMatches(pattern, attributes.path));
  }
  return (
    includesOrAll(rule.apiGroups, attributes.group) &&
    resourceMatches(rule.resources, attributes) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(attributes.name))
  );
}

function includesOrAll(list: readonly string[], wanted: string): boolean {
  return list.includes(wanted) || list.includes("*");
}

function resourceMatches(resources: readonly string[], asked: ResourceAttributes): boolean {
  const { resource, subresource } = asked;
  if (subresource === "") return includesOrAll(resources, resource);
  return includesOrAll(resources, `${resource}/${subresource}`) || resources.includes(`*/${subresource}`);
}

/** A pattern is a path, or a prefix of paths that ends with `*`. */
function pathMatches(pattern: string, path: string): boolean {
  return pattern === path || (pattern.endsWith("*") && path.startsWith(withoutStars(pattern)));
}

function withoutStars(pattern: string): string {
  let end = pattern.length;
  while (end > 0 && pattern[end - 1] === "*") end -= 1;
  return pattern.slice(0, end);
}

/** One verb on one resource (of one name), or on one path. */
type Right =
  | {
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      /** Undefined: objects of any name. */
      readonly name: string | undefined;
    }
  | { readonly verb: string; readonly path: string };

/** How many single rights the rules name. */
export function rightCount(rules: readonly PolicyRule[]): number {
  return rules.reduce((count, rule) => {
    const resources = rule.apiGroups.length * rule.resources.length * Math.max(1, rule.resourceNames.length);
    return count + rule.verbs.length * (resources + rule.nonResourceURLs.length);
  }, 0);
}

function* rightsOf(rule: PolicyRule): Generator<Right> {
  const names = rule.resourceNames.length === 0 ? [undefined] : rule.resourceNames;
  for (const group of rule.apiGroups) {
    for (const resource of rule.resources) {
      for (const verb of rule.verbs) for (const name of names) yield { verb, group, resource, name };
    }
  }
  for (const path of rule.nonResourceURLs) for (const verb of rule.verbs) yield { verb, path };
}

function ruleCovers(owned: PolicyRule, right: Right): boolean {
  if (!includesOrAll(owned.verbs, right.verb)) return false;
  if ("path" in right) return owned.nonResourceURLs.some((pattern) => pathMatches(pattern, right.path));
  const { group, resource, name } = right;
  const slash = resource.indexOf("/");
  return (
    includesOrAll(owned.apiGroups, group) &&
    (includesOrAll(owned.resources, resource) ||
      (slash >= 0 && owned.resources.includes(`*${resource.slice(slash)}`))) &&
    (owned.resourceNames.length === 0 || (name !== undefined && owned.resourceNames.includes(name)))
  );
}

/**
 * What `wanted` grants beyond `owned`, as the API server describes it: a line for each resource or path, sorted; empty
 * when all is owned. Costs rights of `wanted` times rules of `owned`: bound `rightCount` first.
 */
export function missingRights(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): string[] {
  const verbsOf = new Map<string, string[]>();
  for (const rule of wanted) {
    for (const right of rightsOf(rule)) {
      if (owned.some((own) => ruleCovers(own, right))) continue;
      // Verbs of one resource are listed together; paths stand alone.
      const key = "path" in right ? `${pathText(right.path)}\n${right.verb}` : resourceText(right);
      const verbs = verbsOf.get(key);
      if (verbs === undefined) verbsOf.set(key, [right.verb]);
      else verbs.push(right.verb);
    }
  }
  const lines = [...verbsOf].map(([key, verbs]) => `{${key.split("\n", 1)[0]}, Verbs:${goQuotes(verbs)}}`);
  return [...new Set(lines)].sort(compareBytes);
}

function resourceText({ group, resource, name }: Extract<Right, { resource: string }>): string {
  const names = name === undefined ? "" : `, ResourceNames:${goQuotes([name])}`;
  return `APIGroups:${goQuotes([group])}, Resources:${goQuotes([resource])}${names}`;
}

function pathText(path: string): string {
  return `NonResourceURLs:${goQuotes([path])}`;
}

/** A list of strings as Go's `%q` prints it. */
export function goQuotes(texts: readonly string[]): string {
  return `[${texts.map(goQuote).join(" ")}]`;
}
