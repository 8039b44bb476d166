/** Kinds whose gates are off unless they are switched on, with objects that do nothing. */
import type { GatedObject } from "../../testkit/controller/minimal_objects.ts";
import type { World } from "./world.ts";

/** What has no namespace has a name of its own in every run. */
export function nameOf({ isClusterScoped }: GatedObject, world: World): string {
  return isClusterScoped ? `gated-${world.namespace.split("-").at(-1)}` : "gated";
}

export function manifestOf(gated: GatedObject, world: World): object {
  const [, version = "", ...group] = gated.resource.split(".");
  const { kind, spec } = gated;
  return {
    apiVersion: `${group.join(".")}/${version}`,
    kind,
    metadata: { name: nameOf(gated, world) },
    spec,
  };
}
