/** Which changes of claim templates can be carried out on claims that exist. Spec: statefulset 6. */
import {
  type FieldError,
  forbidden,
  invalid,
  isQuantity,
  jsonEqual,
  quantityEqual,
} from "../../kube/core/index.ts";
import { member } from "../members.ts";
import type { PersistentVolumeClaim } from "../pod_template.ts";
import type { StatefulSetSpec } from "./schema.ts";

export interface FoundStorageClass {
  name: string;
  /** Undefined where the class does not say. */
  allowVolumeExpansion: boolean | undefined;
}

/** A class by its name, the newest default class for undefined; undefined when there is none. */
export type StorageClassLookup = (name: string | undefined) => FoundStorageClass | undefined;

/** Classes that validateClaimChange asks for; undefined stands for the default class. */
export function storageClassNames(spec: StatefulSetSpec | undefined): (string | undefined)[] {
  return (spec?.volumeClaimTemplates ?? []).map(classOf);
}

/** Checked against the strategy that held before the change; templates are known by their names, in any order. */
export function validateClaimChange(
  spec: StatefulSetSpec,
  before: StatefulSetSpec,
  classes: StorageClassLookup,
): FieldError[] {
  if (before.volumeClaimUpdateStrategy?.type !== "OnPodRollingUpdate") return [];
  const path = "spec.volumeClaimTemplates";
  const claims = spec.volumeClaimTemplates ?? [];
  const old = before.volumeClaimTemplates ?? [];
  if (claims.length !== old.length) {
    return [invalid(path, claims.length, `the number of claim templates cannot change from ${old.length}`)];
  }
  const byName = new Map(old.map((claim) => [claim.metadata?.name, claim]));
  return claims.flatMap((claim, index) => {
    const name = claim.metadata?.name;
    const other = byName.get(name);
    const at = `${path}[${index}]`;
    if (other !== undefined) return validateOne(at, claim, other, classes);
    return [
      invalid(
        `${at}.name`,
        name,
        `no claim template had this name: there were ${[...byName.keys()].join(", ")}`,
      ),
    ];
  });
}

function validateOne(
  path: string,
  claim: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
  classes: StorageClassLookup,
): FieldError[] {
  const sameKind =
    classOf(claim) === classOf(old) && jsonEqual(claim.spec?.["accessModes"], old.spec?.["accessModes"]);
  if (!sameKind) return [invalid(path, claim.metadata?.name, "storage class and access modes cannot change")];
  const size = storageOf(claim);
  const oldSize = storageOf(old);
  if (!isQuantity(size) || !isQuantity(oldSize) || quantityEqual(size, oldSize)) return [];
  const name = classOf(claim);
  const found = classes(name);
  if (found === undefined) {
    return name === undefined ? [] : [invalid(`${path}.spec.storageClassName`, name, "can not get sc")];
  }
  if (found.allowVolumeExpansion !== false) return [];
  const words = `storage class ${found.name} does not support volume expansion`;
  return [forbidden(`${path}.spec.resources.requests.storage`, words)];
}

function classOf(claim: PersistentVolumeClaim): string | undefined {
  const name = claim.spec?.["storageClassName"];
  return typeof name === "string" ? name : undefined;
}

function storageOf(claim: PersistentVolumeClaim): unknown {
  return member(member(claim.spec ?? {}, "resources"), "requests")["storage"];
}
