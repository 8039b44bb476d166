/**
 * What a takeover changes, as it was before: one ConfigMap an object, packed, since definitions are large, and an index
 * that is written last and removed last. Whoever finds the index finds all of it.
 */
import { gunzipSync, gzipSync } from "node:zlib";
import { type Client, ignoreNotFound } from "../../kube/index.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, isAnyObject, textAt, toAnyObject } from "../fields.ts";
import { builtinType } from "../install/apply.ts";
import { objectResource } from "../resource_types.ts";
import { fieldManager } from "../write.ts";
import type { Phase } from "./plan.ts";

const indexName = "refit-migration";
const recordLabel = "refit.dev/migration-record";
const resource = objectResource(builtinType({ apiVersion: "v1", kind: "ConfigMap" }));
/** A definition has about 1 MB. */
const mostBytes = 16 * 1024 * 1024;
const phases: readonly Phase[] = ["recorded", "installed", "returning"];

export interface MigrationRecord {
  readonly phase: Phase;
  /** As they were, without what the server sets. */
  readonly objects: readonly AnyObject[];
}

export interface RecordPlace {
  readonly client: Client;
  /** Of the manager. */
  readonly namespace: string;
}

/** Throws CliError for a record that cannot be read. */
export async function readRecord({ client, namespace }: RecordPlace): Promise<MigrationRecord | undefined> {
  const index = await client.get(resource, { namespace, name: indexName }).catch(ignoreNotFound);
  if (index === undefined) return undefined;
  const phase = phases.find((known) => known === textAt(index, "data", "phase"));
  if (phase === undefined)
    throw new CliError(
      `ConfigMap ${namespace}/${indexName} has no phase of a migration: it was changed by hand`,
    );
  const { items } = await client.list(resource, { namespace, labelSelector: recordLabel });
  return { phase, objects: items.map(unpacked) };
}

/** Writes all objects, then the index. Repeating it overwrites what a run left that was killed before the index. */
export async function writeRecord(place: RecordPlace, objects: readonly AnyObject[]): Promise<void> {
  for (const object of objects)
    await apply(
      place,
      nameOf(object),
      { binaryData: { object: packed(object) } },
      { [recordLabel]: "object" },
    );
  await setPhase(place, "recorded");
}

export async function setPhase(place: RecordPlace, phase: Phase): Promise<void> {
  await apply(place, indexName, { data: { phase } }, {});
}

export async function forgetRecord({ client, namespace }: RecordPlace): Promise<void> {
  const { items } = await client.list(resource, { namespace, labelSelector: recordLabel });
  for (const { metadata } of items)
    await client.delete(resource, { namespace, name: metadata.name ?? "" }).catch(ignoreNotFound);
  await client.delete(resource, { namespace, name: indexName }).catch(ignoreNotFound);
}

async function apply(
  { client, namespace }: RecordPlace,
  name: string,
  content: object,
  labels: Readonly<Record<string, string>>,
): Promise<void> {
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace, labels }, ...content };
  const patch = { type: "apply", body, fieldManager, force: true } as const;
  await client.patch(resource, { namespace, name }, patch, { fieldManager });
}

/** Kinds and names are at most 63 and 180 characters here: a valid name of an object. */
function nameOf({ kind = "", metadata: { namespace = "", name = "" } }: AnyObject): string {
  return [indexName, kind.toLowerCase(), namespace, name].filter((part) => part !== "").join(".");
}

/** The object without what the server sets, so that it can be created again. */
export function withoutServerFields(object: AnyObject): AnyObject {
  const { status: _status, metadata, ...rest } = object;
  const { namespace, name, labels, annotations } = metadata;
  return toAnyObject({ ...rest, metadata: { namespace, name, labels, annotations } });
}

function packed(object: AnyObject): string {
  return gzipSync(JSON.stringify(withoutServerFields(object))).toString("base64");
}

function unpacked(map: AnyObject): AnyObject {
  const where = `ConfigMap ${map.metadata.namespace ?? ""}/${map.metadata.name ?? ""}`;
  try {
    const bytes = Buffer.from(textAt(map, "binaryData", "object") ?? "", "base64");
    const object: unknown = JSON.parse(gunzipSync(bytes, { maxOutputLength: mostBytes }).toString());
    if (isAnyObject(object)) return object;
  } catch (cause) {
    throw new CliError(`${where} holds no object: it was changed by hand`, { cause });
  }
  throw new CliError(`${where} holds no object: it was changed by hand`);
}
