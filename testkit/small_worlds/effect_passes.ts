/**
 * Passes whose effects are carried out one after another, and whose next pass begins when all are: which writes are under way, and
 * what comes of a failure. As controller/runtime/executor does it.
 */

import { objectAt, textAt } from "../../controller/native/json_fields.ts";
import type { KindEffect, StatusPatch, WriteEffect } from "../../controller/plan/effects.ts";
import { isJsonObject } from "../../kube/core/index.ts";

/** `resourceVersion`: the only one of the object that the status may be written to. */
export type PassWrite = WriteEffect | (StatusPatch & { readonly resourceVersion?: string });

/** Not empty, and neither are its batches: the first one is under way, each other one begins after the answers to the one before. */
export interface Pass {
  readonly batches: readonly (readonly PassWrite[])[];
  readonly failure?: Failure;
}

/** `race`: somebody else was faster. */
export type Failure = "race" | "refused";

/** Undefined: nothing is to be written. */
export function passOf(effects: readonly KindEffect[], resourceVersion: string): Pass | undefined {
  const batches = effects.flatMap((effect) => batchesOf(effect, resourceVersion));
  return batches.length === 0 ? undefined : { batches };
}

function batchesOf(effect: KindEffect, resourceVersion: string): PassWrite[][] {
  switch (effect.type) {
    case "create":
    case "patch":
    case "delete":
      return [[effect]];
    case "patch status": {
      if (Object.keys(effect.status).length === 0) return [];
      return [[effect.exact === true ? { ...effect, resourceVersion } : effect]];
    }
    case "writes": {
      const { pace, writes } = effect;
      if (writes.length === 0) return [];
      return pace === "at once" ? [[...writes]] : slowStart(writes);
    }
    case "background":
      return effect.effects.flatMap((each) => batchesOf(each, resourceVersion));
    case "event":
    case "confirm object":
      return [];
    default:
      throw new Error(`a pass with the effect ${effect.type}`);
  }
}

function slowStart(writes: readonly WriteEffect[]): WriteEffect[][] {
  const batches: WriteEffect[][] = [];
  for (let start = 0, size = 1; start < writes.length; start += size, size *= 2)
    batches.push(writes.slice(start, start + size));
  return batches;
}

export function underWay(pass: Pass | undefined): readonly PassWrite[] {
  return pass?.batches[0] ?? [];
}

/** After the answer to one of its writes that are under way; with `over` the pass has ended, well or not. */
export function answered(
  { batches: [current = [], ...next], failure: before }: Pass,
  write: PassWrite,
  failed?: Failure,
): { readonly pass: Pass } | { readonly over: Failure | "done" } {
  // What was refused is told, whatever else happened to the others of the batch.
  const failure = before === "refused" ? before : (failed ?? before);
  const left = current.filter((other) => other !== write);
  if (left.length > 0)
    return { pass: { batches: [left, ...next], ...(failure === undefined ? {} : { failure }) } };
  if (failure !== undefined) return { over: failure };
  return next.length > 0 ? { pass: { batches: next } } : { over: "done" };
}

/** What the server compares before it writes. */
export function preconditionsOf(write: PassWrite): {
  readonly uid?: string;
  readonly resourceVersion?: string;
} {
  if (write.type !== "patch") return write.type === "create" ? {} : write;
  const metadata = isJsonObject(write.patch.body) ? objectAt(write.patch.body, "metadata") : {};
  const [uid, resourceVersion] = [textAt(metadata, "uid"), textAt(metadata, "resourceVersion")];
  return { ...(uid === "" ? {} : { uid }), ...(resourceVersion === "" ? {} : { resourceVersion }) };
}

/** Whether the server finds the object as the write expects it. */
export function isMet(
  write: PassWrite,
  present: { readonly uid: string; readonly resourceVersion: string },
): boolean {
  const { uid, resourceVersion } = preconditionsOf(write);
  return (
    (uid ?? present.uid) === present.uid &&
    (resourceVersion ?? present.resourceVersion) === present.resourceVersion
  );
}

/** Of a write, but for versions and UIDs. */
export function textOfWrite(write: PassWrite): string {
  let text = texts.get(write);
  if (text === undefined) {
    text = JSON.stringify(write, (key, value: unknown) => (isVersion(key) ? undefined : value));
    texts.set(write, text);
  }
  return text;
}

const texts = new WeakMap<object, string>();

function isVersion(key: string): boolean {
  return key === "resourceVersion" || key === "uid";
}

export function nameOfWrite(write: PassWrite): string {
  return write.type === "patch status" ? "the status" : `${write.type} ${write.resource} ${write.name}`;
}
