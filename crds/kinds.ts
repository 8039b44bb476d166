/** The registry of all kinds. */
import { cloneSet } from "./cloneset/schema.ts";
import { type DefinitionOptions, renderDefinitions } from "./definition.ts";
import type { KindDefinition } from "./kind.ts";

export const kinds: readonly KindDefinition[] = [cloneSet];

/** Kinds on which a controller acts: what an installation serves. */
export const carriedOutKinds: readonly KindDefinition[] = kinds.filter((definition) => definition.carriedOut);

export function kindNamed(kind: string, group = "apps.kruise.io"): KindDefinition | undefined {
  return kinds.find((definition) => definition.kind === kind && definition.group === group);
}

/** YAML of the definitions that an installation serves. */
export function renderCustomResourceDefinitions(options: DefinitionOptions = {}): string {
  return renderDefinitions(carriedOutKinds, options);
}
