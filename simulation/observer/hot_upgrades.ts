/** Hot upgrades of SidecarSets: of two containers that take turns, one always does its work. */
import type { StoredObject } from "../../sandbox/index.ts";
import { isByController } from "./disruptions.ts";
import { at, listAt, textAt } from "./fields.ts";
import type { Rule } from "./rule.ts";

const path = ["upgradeStrategy", "hotUpgradeEmptyImage"];

export const hotUpgrades: Rule = (write) => {
  const { pod, cluster } = write;
  if (!isByController(write) || pod?.before === undefined || pod.isGone) return [];
  const { before, now } = pod;
  return cluster.objects("sidecarsets.apps.kruise.io").flatMap((set) =>
    listAt(set, "spec", "containers").flatMap((sidecar) => {
      const empty = textAt(sidecar, ...path);
      const pair = pairOf(textAt(sidecar, "name"));
      if (empty === "" || imageOf(now, pair[0]) === "") return [];
      const working = pair.filter((name) => works(before, name, empty));
      const left = working.filter((name) => imageOf(now, name) === imageOf(before, name));
      if (working.length === 0 || left.length > 0) return [];
      return [`SidecarSet ${set.metadata.name}: no sidecar of ${now.metadata.name} works any more`];
    }),
  );
};

/** Of a pair, once all is well: exactly one has an image that does something. While the set is paused nobody is put to rest (spec sidecarset, rule 43). */
export function unrested(set: StoredObject, pods: readonly StoredObject[]): string[] {
  const most = at(set, "spec", "updateStrategy", "paused") === true ? 2 : 1;
  return listAt(set, "spec", "containers")
    .filter((sidecar) => at(sidecar, ...path) !== undefined)
    .flatMap((sidecar) => {
      const empty = textAt(sidecar, ...path);
      const pair = pairOf(textAt(sidecar, "name"));
      const awake = (pod: StoredObject): number =>
        pair.filter((name) => ![empty, ""].includes(imageOf(pod, name))).length;
      return pods
        .filter((pod) => imageOf(pod, pair[0]) !== "" && (awake(pod) < 1 || awake(pod) > most))
        .map((pod) => `${awake(pod)} sidecars of ${pod.metadata.name} have work, not 1`);
    });
}

function pairOf(name: string): readonly [string, string] {
  return [`${name}-1`, `${name}-2`];
}

function works(pod: StoredObject, name: string, empty: string): boolean {
  const status = listAt(pod, "status", "containerStatuses").find((each) => textAt(each, "name") === name);
  const image = imageOf(pod, name);
  return image !== empty && textAt(status, "image") === image && at(status, "ready") === true;
}

function imageOf(pod: StoredObject, name: string): string {
  const container = listAt(pod, "spec", "containers").find((each) => textAt(each, "name") === name);
  return textAt(container, "image");
}
