/** The containers that a sidecar becomes in a pod, and their places among its own. Spec: sidecarset 3 to 5, 7 to 9, 40. */
import {
  hotUpgradeAltVersionPrefix,
  hotUpgradePair,
  hotUpgradeVersionPrefix,
  type SidecarContainer,
} from "../../../../crds/index.ts";
import type { JsonObject } from "../../../../kube/core/index.ts";
import { objectsAt } from "../../../native/json_fields.ts";
import type { AppContainers, SharedVolume } from "./app_containers.ts";
import type { PreparedSidecar } from "./prepared_sidecar.ts";

type Place = "before" | "after";

/** A container of a pod, and where it goes unless the pod has one of its name. */
export interface Placed {
  readonly name: string;
  readonly place: Place;
  /** Its members and its list `env` may be written to; what is in them is shared with other pods. */
  readonly container: JsonObject;
}

/** Where `policy` puts a sidecar; `usual`: where it says nothing. */
export function placeOf({ podInjectPolicy }: SidecarContainer, usual: Place): Place {
  if (podInjectPolicy === "BeforeAppContainer") return "before";
  return podInjectPolicy === "AfterAppContainer" ? "after" : usual;
}

/** Annotations that tell the two containers which of them serves. */
export function hotUpgradeVersions(name: string): Record<string, string> {
  const [working, idle] = hotUpgradePair(name);
  return {
    [hotUpgradeVersionPrefix + working]: "1",
    [hotUpgradeAltVersionPrefix + working]: "0",
    [hotUpgradeVersionPrefix + idle]: "0",
    [hotUpgradeAltVersionPrefix + idle]: "1",
  };
}

/** One container, or two with hot upgrade. `resources`: in place of its own. `usual`: its place unless it says one. */
export function placedContainers(
  prepared: PreparedSidecar,
  app: AppContainers,
  { usual, resources }: { readonly usual: Place; readonly resources: JsonObject | undefined },
): Placed[] {
  const { sidecar, shares, paths } = prepared;
  const shared = shares === undefined ? [] : app.shared(shares).filter(({ path }) => !paths.has(path));
  const given = app.transferred(prepared.transfers);
  for (const { env } of shared) given.push(...env);
  const place = placeOf(sidecar, usual);
  return prepared.containers.map(({ name, fields, lastEnv }) => {
    const container = { ...fields };
    if (resources !== undefined) container["resources"] = resources;
    container["env"] = withMissing(prepared, given, lastEnv);
    for (const one of shared) addVolume(container, fields, one);
    return { name, place, container };
  });
}

/** A name that is there already is never overwritten. */
function withMissing(
  { env, envNames }: PreparedSidecar,
  ...added: readonly (readonly JsonObject[])[]
): JsonObject[] {
  const all = [...env];
  const names = new Set<unknown>();
  for (const variables of added) {
    for (const variable of variables) {
      const name = variable["name"];
      if (envNames.has(name) || names.has(name)) continue;
      names.add(name);
      all.push(variable);
    }
  }
  return all;
}

/** `fields`: of which the container was made, whose lists are not its own. */
function addVolume(container: JsonObject, fields: JsonObject, { list, volume }: SharedVolume): void {
  const present = container[list];
  if (Array.isArray(present) && present !== fields[list]) present.push(volume);
  else container[list] = [...objectsAt(fields, list), volume];
}

/** The pod's containers with the sidecars among them: one of the same name is replaced where it stands. */
export function withSidecars(own: readonly unknown[], sidecars: readonly Placed[]): unknown[] {
  const replaced = new Map<unknown, JsonObject>();
  const names = new Set(own.map(nameOf));
  const around: Record<Place, JsonObject[]> = { before: [], after: [] };
  for (const { name, place, container } of sidecars) {
    if (names.has(name)) replaced.set(name, container);
    else around[place].push(container);
  }
  const kept = own.map((container) => replaced.get(nameOf(container)) ?? container);
  return [...around.before, ...kept, ...around.after];
}

function nameOf(container: unknown): unknown {
  return typeof container === "object" && container !== null && "name" in container
    ? container.name
    : undefined;
}
