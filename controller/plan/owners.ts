/** Who owns an object, and where what it owns may be. */
import {
  type KubeObject,
  type ObjectKey,
  type ObjectMeta,
  type OwnerReference,
  refOf,
} from "../../kube/core/index.ts";
import { type Cache, type ControllerOf, confinedTo, type Writer } from "../../kube/index.ts";
import { GROUP } from "./resources.ts";

export type Owners = readonly OwnerReference[] | undefined;

/**
 * What dependants are found by: the namespace that they share with their owner, and its UID. A UID alone proves nothing,
 * because anybody who may write in one namespace can name any UID there.
 */
export type OwnerKey = `${string}#${string}`;

/** `namespace`: where the dependants are. That is the owner's own; an owner without a namespace says which one is meant. */
export function ownerKey(namespace: string, uid: string): OwnerKey {
  return `${namespace}#${uid}`;
}

/** Of an object that is in a namespace. */
export function ownerKeyOf({ namespace = "", uid = "" }: Pick<ObjectMeta, "namespace" | "uid">): OwnerKey {
  return ownerKey(namespace, uid);
}

/** Objects of one cache by what owns them. */
export interface Dependants<T> {
  of(owner: OwnerKey): Iterable<T>;
}

/** Indexes the cache. `ownersOf`: UIDs of those that may own the object if they are in `namespace`, the object's own. */
export function dependantsIn<T>(
  cache: Cache<T>,
  index: string,
  placeOf: (object: T) => { readonly namespace: string; readonly owners: readonly string[] },
): Dependants<T> {
  cache.addIndex(index, (object) => {
    const { namespace, owners } = placeOf(object);
    return owners.map((uid) => ownerKey(namespace, uid));
  });
  return { of: (owner) => cache.byIndex(index, owner) };
}

/** Where writes for an owner may go: into its namespace, or into any for one that has none. */
export type OwnerScope = { readonly namespace: string } | "Cluster";

export function scopeOf(key: ObjectKey): OwnerScope {
  const { namespace } = refOf(key);
  return namespace === undefined ? "Cluster" : { namespace };
}

/** What is asked for a writer by the owner for whom it writes. */
export function writersOf(client: Writer): (owner: OwnerScope) => Writer {
  return (owner) => (owner === "Cluster" ? client : confinedTo(owner.namespace, client));
}

/** The same for a controller whose objects are all in a namespace: it never writes into any. */
export function writersInNamespaces(client: Writer): (owner: OwnerScope) => Writer {
  const writesFor = writersOf(client);
  return (owner) => {
    if (owner === "Cluster") throw new Error("objects in a namespace ask for a writer into all of them");
    return writesFor(owner);
  };
}

export function ownersOf({ metadata }: KubeObject): Owners {
  return metadata.ownerReferences;
}

/** The controlling owner if it is of this kind; by group and kind, whatever the version. Of a pod only its controller is held. */
export function controllerOfKind(
  owners: Owners | ControllerOf,
  kind: string,
): OwnerReference | ControllerOf | undefined {
  const owner = isController(owners) ? owners : owners?.find((each) => each.controller);
  return owner?.kind === kind && groupOf(owner) === GROUP ? owner : undefined;
}

function isController(owners: Owners | ControllerOf): owners is ControllerOf {
  return owners !== undefined && "uid" in owners;
}

function groupOf(owner: OwnerReference | ControllerOf): string | undefined {
  return "group" in owner ? owner.group : owner.apiVersion.split("/")[0];
}
