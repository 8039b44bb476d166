/**
 * Objects follow their owners: dependents go when their last owner is gone, are released by orphaning, and hold a
 * foreground deletion back. Deleted namespaces are emptied here as well.
 */

import { cloneJson, type OwnerReference, type Timer } from "../kube/core/index.ts";
import { hasWebhooks } from "./admission/matching.ts";
import type { StoredObject } from "./cluster.ts";
import type { EventWriter } from "./events.ts";
import { ApiError } from "./http/api_error.ts";
import { setAt } from "./json.ts";
import { type Resource, splitApiVersion } from "./resources/resource.ts";
import type { Revision } from "./revision.ts";
import type { StoredChange, Table } from "./storage.ts";
import { serviceAccountUser } from "./tokens.ts";
import type { World } from "./world.ts";
import { deleteAtOnce, deleteObject } from "./writes/delete.ts";
import { requestAtOnce, type User } from "./writes/request.ts";
import { updateAtOnce } from "./writes/update.ts";

const foreground = "foregroundDeletion";
const orphan = "orphan";
const retryMs = 1000;

function serviceUser(name: string): { readonly user: User; readonly userAgent: string } {
  const user = serviceAccountUser("kube-system", name, "");
  return {
    user: { username: user.username, groups: user.groups },
    userAgent: `kube-controller-manager/${name}`,
  };
}

const collector = serviceUser("generic-garbage-collector");
/** In its events. */
const collectorName = "garbage-collector-controller";
const namespaceUser = serviceUser("namespace-controller");

interface Dependent {
  readonly table: Table;
  readonly namespace: string;
  readonly name: string;
}

type CollectorParts = Pick<World, "admission" | "clock" | "log" | "registry" | "soon" | "storage">;

export class GarbageCollector {
  readonly #world: CollectorParts;
  readonly #events: EventWriter;
  /** uid of an owner -> its dependents, by table and key. */
  readonly #dependents = new Map<string, Map<string, Dependent>>();
  /** Namespace by UID, of every object; empty for one that has none. */
  readonly #namespaces = new Map<string, string>();
  readonly #queue = new Map<string, () => void>();
  readonly #timers = new Set<Timer>();
  #planned = false;
  #stopped = false;

  constructor(world: CollectorParts, events: EventWriter) {
    this.#world = world;
    this.#events = events;
    world.storage.observe((change) => this.#observe(change));
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
  }

  #observe(change: StoredChange): void {
    const { current, previous, table, type } = change;
    const uid = current.object.metadata.uid ?? "";
    this.#unlink(previous, table, type === "DELETED" ? undefined : current);
    if (type === "DELETED") {
      this.#namespaces.delete(uid);
      for (const dependent of this.#dependents.get(uid)?.values() ?? []) this.#plan(dependent);
      for (const owner of current.object.metadata.ownerReferences ?? [])
        this.#planOwner(owner, current.namespace);
      if (table.options.namespaced) this.#planNamespace(current.namespace);
      return;
    }
    this.#namespaces.set(uid, current.namespace);
    const owners = current.object.metadata.ownerReferences ?? [];
    if (owners.length > 0) this.#link(current, table, owners);
    if (current.object.metadata.deletionTimestamp !== undefined) {
      this.#plan({ table, namespace: current.namespace, name: current.name });
      if (table.options.name === "namespaces") this.#planNamespace(current.name);
    }
  }

  #link(current: Revision, table: Table, owners: readonly OwnerReference[]): void {
    const dependent = { table, namespace: current.namespace, name: current.name };
    for (const { uid } of owners) {
      const known = this.#dependents.get(uid) ?? new Map<string, Dependent>();
      known.set(keyOf(dependent), dependent);
      this.#dependents.set(uid, known);
    }
    const isDubious = ({ uid }: OwnerReference) =>
      !this.#namespaces.has(uid) || this.#isElsewhere(uid, current.namespace);
    if (owners.some(isDubious)) this.#plan(dependent);
  }

  /** Owners without a namespace may have dependents anywhere. */
  #isElsewhere(uid: string, namespace: string): boolean {
    const known = this.#namespaces.get(uid) ?? "";
    return known !== "" && known !== namespace;
  }

  #reportMisplaced({ object, namespace }: Revision, owner: OwnerReference): void {
    const { apiVersion, kind, name, uid } = owner;
    const reference = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
    const message = `ownerRef ${reference} does not exist in namespace "${namespace}"`;
    try {
      this.#events.write(object, "Warning", "OwnerRefInvalidNamespace", message, collectorName);
    } catch (error) {
      // A namespace that is being deleted takes no events.
      if (!(error instanceof ApiError)) throw error;
    }
  }

  /** Forgets references that the new state no longer has. */
  #unlink(previous: Revision | undefined, table: Table, current: Revision | undefined): void {
    const kept = new Set((current?.object.metadata.ownerReferences ?? []).map(({ uid }) => uid));
    for (const owner of previous?.object.metadata.ownerReferences ?? []) {
      if (kept.has(owner.uid) || previous === undefined) continue;
      const known = this.#dependents.get(owner.uid);
      known?.delete(keyOf({ table, namespace: previous.namespace, name: previous.name }));
      if (known?.size === 0) this.#dependents.delete(owner.uid);
      if (current !== undefined) this.#planOwner(owner, current.namespace);
    }
  }

  /** An owner that waits for its dependents looks again. */
  #planOwner(owner: OwnerReference, namespace: string): void {
    const resource = this.#resourceOf(owner);
    if (resource === undefined) return;
    this.#plan({ table: resource.table, namespace: resource.namespaced ? namespace : "", name: owner.name });
  }

  #plan(dependent: Dependent): void {
    this.#enqueue(keyOf(dependent), () => this.#process(dependent));
  }

  #planNamespace(name: string): void {
    const found = this.#world.registry.resource("namespaces")?.table.get("", name)?.object;
    if (found?.metadata.deletionTimestamp === undefined) return;
    this.#enqueue(`namespace ${name}`, () => this.#emptyNamespace(name));
  }

  /** Work is done between requests, each object once a turn. */
  #enqueue(key: string, work: () => void): void {
    this.#queue.set(key, work);
    if (this.#planned) return;
    this.#planned = true;
    this.#world.soon(() => {
      this.#planned = false;
      const due = [...this.#queue.values()];
      this.#queue.clear();
      for (const run of due) if (!this.#stopped) run();
    });
  }

  #process(dependent: Dependent): void {
    const found = dependent.table.get(dependent.namespace, dependent.name);
    if (found === undefined) return;
    const { object } = found;
    if (object.metadata.deletionTimestamp !== undefined) {
      const finalizers = object.metadata.finalizers ?? [];
      if (finalizers.includes(orphan)) this.#orphanDependents(found, dependent.table);
      else if (finalizers.includes(foreground)) this.#deleteDependents(found, dependent.table);
      return;
    }
    this.#checkOwners(found, dependent.table);
  }

  /** Deletes an object none of whose owners is left; drops references to owners that are gone. */
  #checkOwners(found: Revision, table: Table): void {
    const owners = found.object.metadata.ownerReferences ?? [];
    if (owners.length === 0) return;
    for (const owner of owners)
      if (this.#isElsewhere(owner.uid, found.namespace)) this.#reportMisplaced(found, owner);
    const states = owners.map((owner) => this.#ownerState(owner, found.namespace));
    if (states.includes("unknown")) return;
    const solid = owners.filter((_owner, at) => states[at] === "solid");
    if (solid.length > 0) {
      const dangling = owners.filter((_owner, at) => states[at] !== "solid");
      if (dangling.length > 0) this.#dropReferences(found, table, new Set(dangling.map(({ uid }) => uid)));
      return;
    }
    const waited = states.includes("waiting");
    const parent = (this.#dependents.get(found.object.metadata.uid ?? "")?.size ?? 0) > 0;
    this.#delete(table, found, waited && parent ? "Foreground" : undefined);
  }

  #ownerState(owner: OwnerReference, namespace: string): "solid" | "waiting" | "absent" | "unknown" {
    const resource = this.#resourceOf(owner);
    if (resource === undefined) return "unknown";
    // An object without a namespace cannot say in which one its owner is: it is left alone.
    if (resource.namespaced && namespace === "") return "unknown";
    const object = resource.table.get(resource.namespaced ? namespace : "", owner.name)?.object;
    if (object === undefined || object.metadata.uid !== owner.uid) return "absent";
    const waits =
      object.metadata.deletionTimestamp !== undefined &&
      (object.metadata.finalizers ?? []).includes(foreground);
    return waits ? "waiting" : "solid";
  }

  #resourceOf(owner: OwnerReference): Resource | undefined {
    const { group, version } = splitApiVersion(owner.apiVersion);
    return this.#world.registry.ofKind(group, version, owner.kind)?.resource;
  }

  #deleteDependents(owner: Revision, table: Table): void {
    const uid = owner.object.metadata.uid ?? "";
    let blocked = false;
    for (const dependent of [...(this.#dependents.get(uid)?.values() ?? [])]) {
      const found = dependent.table.get(dependent.namespace, dependent.name);
      if (found === undefined) continue;
      const reference = found.object.metadata.ownerReferences?.find((one) => one.uid === uid);
      if (reference?.blockOwnerDeletion === true) blocked = true;
      if (found.object.metadata.deletionTimestamp === undefined) this.#checkOwners(found, dependent.table);
    }
    // Dependents that went at once make the owner look again through their own deletion.
    if (!blocked) this.#dropFinalizer(owner, table, foreground);
  }

  #orphanDependents(owner: Revision, table: Table): void {
    const uid = owner.object.metadata.uid ?? "";
    for (const dependent of [...(this.#dependents.get(uid)?.values() ?? [])]) {
      const found = dependent.table.get(dependent.namespace, dependent.name);
      if (found !== undefined) this.#dropReferences(found, dependent.table, new Set([uid]));
    }
    this.#dropFinalizer(owner, table, orphan);
  }

  #dropReferences(found: Revision, table: Table, uids: ReadonlySet<string>): void {
    this.#update(table, found, (draft) => {
      const left = (draft.metadata.ownerReferences ?? []).filter(({ uid }) => !uids.has(uid));
      setAt(draft, ["metadata", "ownerReferences"], left.length === 0 ? undefined : left);
    });
  }

  #dropFinalizer(found: Revision, table: Table, finalizer: string): void {
    this.#update(table, found, (draft) => {
      const left = (draft.metadata.finalizers ?? []).filter((name) => name !== finalizer);
      setAt(draft, ["metadata", "finalizers"], left.length === 0 ? undefined : left);
    });
  }

  #update(table: Table, found: Revision, change: (draft: StoredObject) => void): void {
    const served = this.#servedOf(table);
    if (served !== undefined) updateAtOnce(requestAtOnce(served, found), change);
  }

  /** With webhooks, the deletion is a request like any other; a refused one is tried again. */
  #delete(table: Table, found: Revision, propagationPolicy: string | undefined, user = collector): void {
    const served = this.#servedOf(table);
    if (served === undefined || table.get(found.namespace, found.name) === undefined) return;
    const options = { uid: found.object.metadata.uid, propagationPolicy: propagationPolicy ?? "Background" };
    const request = { ...requestAtOnce(served, found), ...user };
    if (!hasWebhooks(this.#world.registry)) {
      deleteAtOnce(this.#world.clock, request, options);
      return;
    }
    deleteObject(this.#world, request, options).catch((error: unknown) => {
      if (error instanceof ApiError && (error.code === 404 || error.code === 409)) return;
      this.#world.log("a dependent could not be deleted", { name: found.key, error: String(error) });
      const timer = this.#world.clock.after(retryMs, () => {
        this.#timers.delete(timer);
        this.#plan({ table, namespace: found.namespace, name: found.name });
        this.#planNamespace(found.namespace);
      });
      this.#timers.add(timer);
    });
  }

  #servedOf(table: Table) {
    const resource = this.#world.registry.resource(table.options.name);
    return resource === undefined ? undefined : this.#world.registry.storedView(resource);
  }

  /** Deletes what is in a namespace; removes it once nothing is left. */
  #emptyNamespace(name: string): void {
    const namespaces = this.#world.registry.resource("namespaces");
    const found = namespaces?.table.get("", name);
    if (namespaces === undefined || found?.object.metadata.deletionTimestamp === undefined) return;
    let left = 0;
    for (const table of this.#world.storage.tables()) {
      if (!table.options.namespaced) continue;
      for (const content of [...table.list(name)]) {
        if (content.object.metadata.deletionTimestamp === undefined) {
          this.#delete(table, content, undefined, namespaceUser);
        }
      }
      left += table.list(name).length;
    }
    if (left > 0) return;
    const finalizers = found.object.metadata.finalizers ?? [];
    const draft = cloneJson(found.object);
    draft["spec"] = {};
    if (finalizers.length === 0) namespaces.table.remove("", name, draft);
    else if (found.object["spec"] !== undefined && JSON.stringify(found.object["spec"]) !== "{}") {
      namespaces.table.put(draft);
    }
  }
}

function keyOf({ table, namespace, name }: Dependent): string {
  return `${table.options.name} ${namespace}/${name}`;
}
