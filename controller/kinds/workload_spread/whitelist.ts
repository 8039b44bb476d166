/** Kinds of others whose pods WorkloadSpreads may place. Spec: workloadspread 5. */
import { isJsonObject, type JsonObject } from "../../../kube/core/index.ts";
import type { Clock, ReadingClient } from "../../../kube/index.ts";
import { configured } from "../../native/config_maps.ts";

const whitelistKey = "WorkloadSpread_Watch_Custom_Workload_WhiteList";
/** What was read is good for so long: pods are created in numbers. */
const FRESH_MS = 10_000;

interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

export interface WhitelistedKind extends GroupKind {
  readonly version: string;
  /** Dot path of the workload's size; empty for none. */
  readonly replicasPath: string;
  /** Kinds between the workload and its pods. */
  readonly subResources: readonly GroupKind[];
}

/** The kinds in the text of the configuration; what cannot be read names none. Keys are read in any case. */
export function parseWhitelist(text: string): readonly WhitelistedKind[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [];
  }
  return objectsOf(value, "workloads").map((each) => ({
    ...groupKindOf(each),
    version: textOf(each, "version"),
    replicasPath: textOf(each, "replicaspath"),
    subResources: objectsOf(each, "subresources").map(groupKindOf),
  }));
}

function groupKindOf(object: JsonObject): GroupKind {
  return { group: textOf(object, "group"), kind: textOf(object, "kind") };
}

function memberOf(object: unknown, name: string): unknown {
  if (!isJsonObject(object)) return undefined;
  const key = Object.keys(object).find((each) => each.toLowerCase() === name);
  return key === undefined ? undefined : object[key];
}

function textOf(object: unknown, name: string): string {
  const value = memberOf(object, name);
  return typeof value === "string" ? value : "";
}

function objectsOf(object: unknown, name: string): JsonObject[] {
  const value = memberOf(object, name);
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

export interface WhitelistDeps {
  readonly client: ReadingClient;
  readonly clock: Clock;
  /** Of this program. */
  readonly systemNamespace: string;
}

/** The list as it is in the cluster. */
export class Whitelist {
  readonly #deps: WhitelistDeps;
  #reading: { readonly at: number; readonly kinds: Promise<readonly WhitelistedKind[]> } | undefined;

  constructor(deps: WhitelistDeps) {
    this.#deps = deps;
  }

  /** Not older than ten seconds. Throws KubeError. */
  kinds(): Promise<readonly WhitelistedKind[]> {
    const now = this.#deps.clock.monotonic();
    const held = this.#reading;
    if (held !== undefined && now - held.at < FRESH_MS) return held.kinds;
    const reading = { at: now, kinds: this.#read() };
    this.#reading = reading;
    // What failed is not remembered; those who wait for it hear of it.
    reading.kinds.catch(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
    return reading.kinds;
  }

  async #read(): Promise<readonly WhitelistedKind[]> {
    const { client, systemNamespace } = this.#deps;
    const text = await configured(client, systemNamespace, whitelistKey);
    return text === undefined ? [] : parseWhitelist(text);
  }
}
