/** How defaults are filled in, in place: only where nothing was written. */
import { type JsonObject, own } from "../kube/core/index.ts";

/** What the feature gates say about pod templates. */
export interface TemplateDefaulting {
  /** False with gate TemplateNoDefaults. */
  templateDefaults: boolean;
  /** Gate DefaultHostNetworkHostPortsInPodTemplates. */
  hostNetworkPorts: boolean;
}

export interface Defaulting extends TemplateDefaulting {
  /** The stored object, on an update, in the same version. */
  old?: JsonObject;
}

/** Whether it was written; null is what clients send for nothing. */
export function isSet(object: JsonObject, key: string): boolean {
  const present = own(object, key);
  return present !== undefined && present !== null;
}

/** Empty text counts as absent: it is the zero value of an enumeration. */
export function fill(object: JsonObject, key: string, value: unknown): void {
  if (!isSet(object, key) || own(object, key) === "") object[key] = value;
}
