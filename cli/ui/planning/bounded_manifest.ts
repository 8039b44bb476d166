/**
 * The objects of a manifest that somebody gave the page. The server plans it in the process that answers all pages, so what would take
 * long to read or to plan is refused before that is begun.
 */
import { Lexer } from "yaml";
import { CliError } from "../../errors.ts";
import { type AnyObject, at, isFields, listAt, numberAt } from "../../fields.ts";
import { objectsIn, parseManifests } from "../../manifest_input.ts";
import { shownText } from "../../why/causes/shown_text.ts";

/** Of YAML. Its parser compares every key of a map with all others, and nests for each `[`; JSON's does neither. */
const mostYaml = 128 * 1024;
const mostTokens = 10_000;
/** Kubernetes' own objects are nested some 20 deep. */
const mostDeep = 64;
const mostObjects = 50;
const mostPods = 20_000;
const mostNewPods = 2_000;
/** Characters of the manifest times new pods, or times subsets: each is made from the template. */
const mostMade = 20_000_000;

/** At least one. Throws CliError, one line. */
export function boundedManifest(text: string): AnyObject[] {
  const objects = objectsOf(text);
  if (objects.length === 0) throw refused("there is no object in it");
  if (objects.length > mostObjects)
    throw refused(
      `it holds ${objects.length} objects, and ${mostObjects} are the most here: use ${inTerminal}`,
    );
  for (const object of objects) {
    refuseOddMembers(object);
    refuseOddNames(object);
  }
  return objects;
}

function objectsOf(text: string): AnyObject[] {
  const value = jsonOf(text);
  if (value !== undefined) return objectsIn(value, "the manifest");
  refuseCostlyYaml(text);
  try {
    return parseManifests(text, "the manifest");
  } catch (cause) {
    // Aliases without end and nesting without end are errors of the parser, not of the document.
    const words = cause instanceof CliError ? cause.message : `it is not usable: ${messageOf(cause)}`;
    throw new CliError(shownText(words), { cause });
  }
}

/** Undefined for what is none. */
function jsonOf(text: string): unknown {
  try {
    return /^\s*[{[]/.test(text) ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

function refuseCostlyYaml(text: string): void {
  const tooLong = "it is too long for YAML here: give it as JSON, or use refit plan -f FILE";
  if (text.length > mostYaml) throw refused(tooLong);
  let tokens = 0;
  for (const _ of new Lexer().lex(text)) if (++tokens > mostTokens) throw refused(tooLong);
}

/** Members that no object of Kubernetes has. */
function refuseOddMembers(object: AnyObject): void {
  const open: { value: unknown; depth: number }[] = [{ value: object, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    if (typeof value !== "object" || value === null) continue;
    if (depth > mostDeep) throw refused(`it is nested more than ${mostDeep} deep`);
    if (Object.hasOwn(value, "__proto__")) throw refused('it has a member "__proto__": leave it out');
    for (const member of Object.values(value)) open.push({ value: member, depth: depth + 1 });
  }
}

const nameForm = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

function refuseOddNames({ apiVersion, kind, metadata }: AnyObject): void {
  const texts: readonly unknown[] = [apiVersion, kind];
  if (!texts.every((each) => typeof each === "string")) throw refused("apiVersion and kind must be text");
  const { name, namespace }: { name?: unknown; namespace?: unknown } = metadata;
  if (typeof name !== "string" || !nameForm.test(name))
    throw refused("metadata.name must be lower-case letters, digits, - and ., such as web-1");
  if (namespace !== undefined && (typeof namespace !== "string" || !nameForm.test(namespace)))
    throw refused("metadata.namespace must be the name of a namespace");
  for (const field of ["labels", "annotations"])
    if (!isTexts(at(metadata, field))) throw refused(`metadata.${field} must have texts as values`);
}

const isTexts = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (isFields(value) && Object.values(value).every((each) => typeof each === "string"));

/**
 * A plan makes each new pod from the template. `stored`: the object as it is, if there is one. `length`: of the manifest. Throws
 * CliError.
 */
export function refuseManyPods(manifest: AnyObject, stored: AnyObject | undefined, length: number): void {
  const surge = numberAt(manifest, "spec", "updateStrategy", "rollingUpdate", "maxSurge") ?? 0;
  const subsets = listAt(manifest, "spec", "topology", "subsets").length;
  // Pods of subsets are made by the workloads of these.
  const wanted = subsets > 0 ? 0 : (numberAt(manifest, "spec", "replicas") ?? 1) + surge;
  const more = wanted - (numberAt(stored, "status", "replicas") ?? 0);
  if (wanted > mostPods || more > mostNewPods)
    throw refused(`the page plans at most ${mostNewPods} new pods and ${mostPods} in all: use ${inTerminal}`);
  if (more * length > mostMade || subsets * length > mostMade)
    throw refused(`it is too long for so many new pods or subsets here: use ${inTerminal}`);
}

const inTerminal = "refit plan -f FILE";

const refused = (why: string): CliError => new CliError(`the manifest: ${why}`);

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
