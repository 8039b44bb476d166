/**
 * What a pod's annotations say of its SidecarSets. Readers accept anything, as anybody may write annotations: what is not
 * of the expected form counts as absent. Writers give the bytes that Go would. Spec: sidecarset 5, 10.
 */
import { compareBytes, goJson, isJsonObject, type JsonObject, own } from "../../kube/core/index.ts";
import { textMember } from "../members.ts";

/** What was injected for one set: an entry of both hash annotations. */
export interface InjectedSidecars {
  /** RFC 3339; empty in the form that early releases wrote. */
  readonly updateTimestamp: string;
  readonly hash: string;
  readonly sidecarSetName: string;
  /** Names as the set has them, sorted; without plain init containers. Undefined where they are not told: written as null. */
  readonly sidecarList: readonly string[] | undefined;
  /** Only beside the hash with images. */
  readonly controllerRevision?: string | undefined;
}

/** What was running before the latest update in place of one set's containers. */
export interface SidecarsBeforeUpdate {
  /** Hash of the set. */
  readonly revision: string;
  /** RFC 3339. */
  readonly updateTimestamp: string;
  /** By container. */
  readonly lastContainerStatuses: ReadonlyMap<string, { readonly imageID: string }>;
}

/** Entries of a hash annotation by set, also in the early form `{"<set>":"<hash>"}`; undefined when the text is none at all. */
export function parseInjectedSidecars(text: string | undefined): Map<string, InjectedSidecars> | undefined {
  return parsedMap(text, (value, sidecarSetName) => {
    if (typeof value === "string")
      return { updateTimestamp: "", hash: value, sidecarSetName, sidecarList: undefined };
    if (!isJsonObject(value)) return undefined;
    const revision = textMember(value, "controllerRevision");
    return {
      updateTimestamp: textMember(value, "updateTimestamp"),
      hash: textMember(value, "hash"),
      sidecarSetName,
      sidecarList: textsAt(value, "sidecarList"),
      ...(revision === "" ? {} : { controllerRevision: revision }),
    };
  });
}

/** `written`: entries in place of those of the same sets. */
export function formatInjectedSidecars(
  entries: ReadonlyMap<string, InjectedSidecars>,
  written: readonly Member[] = [],
): string {
  if (entries.size === 0) return joinedMap(written);
  const replaced = new Set(written.map(({ key }) => key));
  const kept = [...entries].filter(([set]) => !replaced.has(set));
  return joinedMap([
    ...written,
    ...kept.map(([set, entry]) => injectedSidecarsWriter(set, entry)(entry.updateTimestamp)),
  ]);
}

/** Writes the entry of a set for any time (RFC 3339): only that differs between the pods that it is injected into. */
export function injectedSidecarsWriter(
  set: string,
  { hash, sidecarSetName, sidecarList, controllerRevision }: Omit<InjectedSidecars, "updateTimestamp">,
): (updateTimestamp: string) => Member {
  const start = `${goJson(set)}:{"updateTimestamp":`;
  const rest = goJson({ hash, sidecarSetName, sidecarList: sidecarList ?? null, controllerRevision }).slice(
    1,
  );
  return (updateTimestamp) => ({ key: set, text: `${start}${goJson(updateTimestamp)},${rest}` });
}

/** Names of the sets whose sidecars a pod has. */
export function parseInjectedList(text: string | undefined): string[] {
  return (text ?? "").split(",").filter((name) => name !== "");
}

export function formatInjectedList(names: Iterable<string>): string {
  return [...new Set(names)].sort(compareBytes).join(",");
}

/** By sidecar with hot upgrade, the one of its two containers that serves; undefined when the text is none at all. */
export function parseWorkingContainers(text: string | undefined): Map<string, string> | undefined {
  return parsedMap(text, (value) => (typeof value === "string" ? value : undefined));
}

export function formatWorkingContainers(working: ReadonlyMap<string, string>): string {
  return formattedMap(working, (container) => container);
}

/** By set; undefined when the text is none at all. */
export function parseSidecarsBeforeUpdate(
  text: string | undefined,
): Map<string, SidecarsBeforeUpdate> | undefined {
  return parsedMap(text, (value) => {
    if (!isJsonObject(value)) return undefined;
    const statuses = new Map<string, { imageID: string }>();
    const given = own(value, "lastContainerStatuses");
    for (const [name, status] of Object.entries(isJsonObject(given) ? given : {})) {
      if (isJsonObject(status)) statuses.set(name, { imageID: textMember(status, "imageID") });
    }
    return {
      revision: textMember(value, "revision"),
      updateTimestamp: textMember(value, "updateTimestamp"),
      lastContainerStatuses: statuses,
    };
  });
}

export function formatSidecarsBeforeUpdate(states: ReadonlyMap<string, SidecarsBeforeUpdate>): string {
  return formattedMap(states, ({ revision, updateTimestamp, lastContainerStatuses }) => ({
    revision,
    updateTimestamp,
    lastContainerStatuses: Object.fromEntries(
      [...lastContainerStatuses].sort(([left], [right]) => compareBytes(left, right)),
    ),
  }));
}

/** An absent or empty text is an empty map. */
function parsedMap<T>(
  text: string | undefined,
  entryOf: (value: unknown, key: string) => T | undefined,
): Map<string, T> | undefined {
  const entries = new Map<string, T>();
  if (text === undefined || text === "") return entries;
  const parsed = parsedObject(text);
  if (parsed === undefined) return undefined;
  for (const [key, value] of Object.entries(parsed)) {
    const entry = entryOf(value, key);
    if (entry !== undefined) entries.set(key, entry);
  }
  return entries;
}

function parsedObject(text: string): JsonObject | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isJsonObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** Keys sorted, members of the values in their order. */
function formattedMap<T>(entries: ReadonlyMap<string, T>, write: (entry: T) => unknown): string {
  return joinedMap(
    [...entries].map(([key, entry]) => ({ key, text: `${goJson(key)}:${goJson(write(entry))}` })),
  );
}

/** A member of a JSON object; `text` is the key, too. */
interface Member {
  readonly key: string;
  readonly text: string;
}

function joinedMap(members: readonly Member[]): string {
  const sorted = members.toSorted((left, right) => compareBytes(left.key, right.key));
  return `{${sorted.map(({ text }) => text).join(",")}}`;
}

function textsAt(object: JsonObject, key: string): string[] | undefined {
  const value = own(object, key);
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : undefined;
}
