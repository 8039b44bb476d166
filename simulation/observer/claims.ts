/** Claims of volumes: what people can lose is what is in them. Spec: cloneset 4.3 rules 17 to 21; statefulset 4.10, 4.11. */
import type { ClusterChange, StoredObject } from "../../sandbox/index.ts";
import { theirsLabel } from "../applied.ts";
import { isByController } from "./disruptions.ts";
import { at, claimsOf, controllerOf, isActive, isTerminating, keyOf, listAt, textAt } from "./fields.ts";
import type { Leads } from "./leads.ts";
import type { ObservedCluster } from "./observed.ts";
import type { SeenWrite } from "./rule.ts";
import type { Seen, SeenOwner, SeenPod } from "./seen.ts";
import { hasOrdinal, ordinalOf } from "./workloads.ts";

const resource = "persistentvolumeclaims";
const instanceLabel = "apps.kruise.io/cloneset-instance-id";

interface SeenClaim {
  readonly bornAt: number;
  /** As it was before anybody deleted it. */
  alive: StoredObject;
  /** Before the newest change. */
  before: StoredObject | undefined;
  /** When somebody deleted it, though something may hold it. */
  endedAt: number | undefined;
  /** When nothing was left of it: who uses it may keep it for a while. */
  goneAt: number | undefined;
}

export class Claims {
  readonly #cluster: ObservedCluster;
  readonly #seen: Seen;
  /** The newest of each namespace and name. */
  readonly #claims = new Map<string, SeenClaim>();
  /** Pods that controllers have deleted, by their UIDs, and when. */
  readonly #deleted = new Map<string, number>();
  /** Names of pods of which the deletion of a claim was refused, and when last. */
  readonly #refused = new Map<string, number>();
  readonly #leads: Pick<Leads, "since">;

  constructor(cluster: ObservedCluster, seen: Seen, leads: Pick<Leads, "since">) {
    this.#cluster = cluster;
    this.#seen = seen;
    this.#leads = leads;
    const { cluster: stored } = cluster.server;
    stored.subscribe(resource, (change) => this.#claimChanged(change));
  }

  readonly rule = (write: SeenWrite): string[] => {
    const { pod, seen, verb, namespace, name } = write;
    if (write.resource === resource) {
      const claim = this.#claims.get(`${namespace}/${name}`);
      if (claim === undefined) return [];
      const wrong = isByController(write)
        ? verb === "delete"
          ? this.#deletion(write, claim)
          : owners(write, claim)
        : [];
      // The next write may change nothing.
      claim.before = claim.alive;
      return wrong.map((what) => `claim ${keyOf(claim.alive)} ${what}`);
    }
    const owner = pod && seen.owner(pod.owner);
    if (!isByController(write) || pod === undefined || owner === undefined || !isThere(owner)) return [];
    if (write.resource === "pods" && verb === "create")
      return [...this.#birth(write, owner, pod), ...this.#waste(write, owner, pod)];
    if (pod.before === undefined || !isActive(pod.before)) return [];
    if ((!pod.isGone || pod.isAside) && isActive(pod.now)) return [];
    this.#deleted.set(pod.uid, write.now);
    return this.#departure(write, owner, pod);
  };

  /** A request of a controller was refused, or got no answer. */
  refused(method: string, path: string): void {
    const [, namespace, pod] =
      /\/namespaces\/([^/]+)\/persistentvolumeclaims\/[^-]+-([^/?]+)/.exec(path) ?? [];
    if (method === "DELETE") this.#refused.set(`${namespace}/${pod}`, this.#cluster.clock.monotonic());
  }

  /**
   * Of pods that a CloneSet has deleted. Who led then and does not any more could not finish, and what was refused is not tried again:
   * once its pod is gone nothing tells it from a claim that is to be used again.
   */
  left(): string[] {
    return [...this.#claims.values()].flatMap(({ alive, endedAt }) => {
      const pod = this.#podOf(alive);
      if (endedAt !== undefined || pod?.isGone !== true) return [];
      const deletedAt = this.#deletedWithClaims(pod);
      return deletedAt !== undefined && deletedAt > this.#leads.since
        ? [`claim ${keyOf(alive)} is left of a pod that its CloneSet has deleted`]
        : [];
    });
  }

  /** When its controller deleted it; undefined where it did not, or was then refused a claim of it. */
  #deletedWithClaims({ uid, now }: SeenPod): number | undefined {
    const deletedAt = this.#deleted.get(uid);
    const refusedAt = this.#refused.get(keyOf(now));
    if (deletedAt === undefined || refusedAt === undefined) return deletedAt;
    return refusedAt < deletedAt ? deletedAt : undefined;
  }

  /** Only a CloneSet deletes claims: with its pods, and those of pods that are gone when they are not to be used again. */
  #deletion({ seen, now, staleMs }: SeenWrite, { alive }: SeenClaim): string[] {
    if (isTheirs(alive)) return ["is somebody else's, and was deleted"];
    const pod = this.#podOf(alive);
    const owner = seen.owner(pod?.owner ?? controllerOf(alive)?.uid ?? "");
    if (owner === undefined || !(instanceLabel in (alive.metadata.labels ?? {})))
      return ["was deleted, and is no CloneSet's"];
    if (pod !== undefined && !pod.isGone && isActive(pod.now))
      return [`was deleted, and ${pod.now.metadata.name} stays`];
    if (pod !== undefined && this.#deleted.has(pod.uid)) return [];
    const isKept = isThere(owner) && seen.recent(owner, staleMs).every(isReused);
    return isKept && (pod === undefined || endOf(pod) < now - 2 * staleMs)
      ? ["was deleted, and is to be used again"]
      : [];
  }

  /** A pod comes with all its claims, which are nobody else's. */
  #birth({ seen, now, staleMs, namespace }: SeenWrite, owner: SeenOwner, { now: pod }: SeenPod): string[] {
    const what = `${owner.name}: ${pod.metadata.name} was created`;
    const used = claimsOf(pod);
    const states = seen.recent(owner, staleMs);
    const [first] = states;
    const wanted = templateNames(first)
      .filter((name) => states.every((state) => templateNames(state).includes(name)))
      .map((name) => `${name}-${pod.metadata.name}`);
    const pods = this.#cluster
      .objects("pods", namespace)
      .filter(({ metadata }) => metadata.uid !== pod.metadata.uid);
    return [
      ...wanted.filter((name) => !used.includes(name)).map((name) => `${what} without its claim ${name}`),
      ...used.flatMap((name) => {
        const claim = this.#claims.get(`${namespace}/${name}`);
        const isMissing = claim === undefined || (claim.goneAt !== undefined && claim.goneAt < now - staleMs);
        const other = pods.find((each) => claimsOf(each).includes(name));
        return [
          ...(isMissing ? [`${what} while there was no claim ${name}`] : []),
          ...(other === undefined ? [] : [`${what} with claim ${name}, which ${other.metadata.name} has`]),
        ];
      }),
    ];
  }

  /** A CloneSet that makes new claims for its last pod, though those of one that is gone are to be used again. */
  #waste({ seen, now, staleMs }: SeenWrite, owner: SeenOwner, pod: SeenPod): string[] {
    const states = seen.recent(owner, staleMs);
    if (!states.every(isReused) || claimsOf(pod.now).length === 0) return [];
    const active = [...owner.controlled.values()].filter(
      ({ now: each, isGone }) => !isGone && isActive(each),
    );
    const replicas = Math.max(...states.map((state) => owner.kind.replicas(state) ?? 0));
    // What somebody else has made by the name of one that was free is not the set's.
    const isNew = (name: string): boolean => {
      const claim = this.#claims.get(`${pod.now.metadata.namespace}/${name}`);
      return (
        claim !== undefined && claim.bornAt > now - staleMs && controllerOf(claim.alive)?.uid === pod.owner
      );
    };
    if (active.length < replicas || !claimsOf(pod.now).every(isNew)) return [];
    return [...this.#claims.values()]
      .filter(({ alive, bornAt, endedAt }) => {
        const former = this.#podOf(alive);
        const isFree =
          former === undefined ||
          (former.isGone &&
            !former.isAside &&
            this.#deletedWithClaims(former) === undefined &&
            endOf(former) < now - staleMs);
        return (
          controllerOf(alive)?.uid === pod.owner && isFree && endedAt === undefined && bornAt < now - staleMs
        );
      })
      .map(
        ({ alive }) => `${owner.name}: ${pod.now.metadata.name} has new claims, and ${keyOf(alive)} is free`,
      );
  }

  /** A pod of a StatefulSet takes its claims along just when its ordinal goes, and they are to go with it. */
  #departure({ seen, now, staleMs, namespace }: SeenWrite, owner: SeenOwner, pod: SeenPod): string[] {
    const states = seen.recent(owner, staleMs);
    if (!states.every(({ kind }) => kind === "StatefulSet")) return [];
    const goes = (state: StoredObject): boolean =>
      retention(state, "whenScaled") === "Delete" && !hasOrdinal(state, ordinalOf(pod.now));
    return claimsOf(pod.now).flatMap((name) => {
      const claim = this.#claims.get(`${namespace}/${name}`);
      if (claim === undefined || claim.endedAt !== undefined) return [];
      const isBound = hasOwner(claim.alive, pod.uid);
      const what = `${owner.name}: ${pod.now.metadata.name} was deleted`;
      if (isBound && !states.some(goes)) return [`${what} and takes claim ${name} along, which stays`];
      const isLeft = !isBound && states.every(goes) && claim.bornAt < now - staleMs;
      return isLeft ? [`${what} and leaves claim ${name}, which is to go with it`] : [];
    });
  }

  #claimChanged({ type, object }: ClusterChange): void {
    const now = this.#cluster.clock.monotonic();
    const known = this.#claims.get(keyOf(object));
    const isEnded = type === "DELETED" || isTerminating(object);
    if (known === undefined || known.alive.metadata.uid !== object.metadata.uid) {
      const endedAt = isEnded ? now : undefined;
      this.#claims.set(keyOf(object), {
        bornAt: now,
        alive: object,
        before: undefined,
        endedAt,
        goneAt: undefined,
      });
    } else if (isEnded) {
      known.endedAt ??= now;
      if (type === "DELETED") known.goneAt = now;
    } else {
      known.before = known.alive;
      known.alive = object;
    }
  }

  /** Of a CloneSet's claim: the last pod of its instance, or the one that it was left to. */
  #podOf(claim: StoredObject): SeenPod | undefined {
    const { namespace = "", labels = {} } = claim.metadata;
    const controller = controllerOf(claim);
    const id = labels[instanceLabel];
    if (controller === undefined || id === undefined) return undefined;
    const { kind, name } = controller;
    return this.#seen.pod(namespace, kind === "CloneSet" ? `${name}-${id}` : name);
  }
}

/** What is wrong with the owners that a write has given to a claim. */
function owners({ seen, staleMs }: SeenWrite, { before, alive }: SeenClaim): string[] {
  const { namespace = "", ownerReferences = [] } = alive.metadata;
  const added = ownerReferences.filter(({ uid }) => before === undefined || !hasOwner(before, uid));
  if (before !== undefined && isTheirs(alive) && added.some(({ controller }) => controller === true))
    return ["is somebody else's, and was taken over"];
  return added.flatMap(({ kind, name, uid, controller }) => {
    if (kind === "CloneSet") return before === undefined ? [] : ["was taken over"];
    const pod = kind === "Pod" ? seen.pod(namespace, name) : undefined;
    const owner = seen.owner(pod?.owner ?? uid);
    if (owner === undefined || !isThere(owner)) return [];
    const states = seen.recent(owner, staleMs);
    const isAlways = (holds: (state: StoredObject) => boolean): boolean => states.every(holds);
    if (kind === "StatefulSet")
      return isAlways((state) => retention(state, "whenDeleted") !== "Delete")
        ? ["is to go with its StatefulSet, which retains it"]
        : [];
    // One that is taken aside keeps its claims (spec cloneset, rule 1).
    if (pod === undefined || pod.isAside) return [];
    if (controller === true) {
      const stays = !pod.isGone && isActive(pod.now) && controllerOf(pod.now)?.uid === pod.owner;
      return stays || isAlways(isReused) ? [`is to go with ${name}, though it is to be kept`] : [];
    }
    return isAlways(
      (state) => retention(state, "whenScaled") !== "Delete" || hasOrdinal(state, ordinalOf(pod.now)),
    )
      ? [`is to go with ${name}, though its StatefulSet retains it`]
      : [];
  });
}

/** Once all is well: claims of the pods of a workload that are not as they should be, and those that no pod has. */
export function unsettledClaims(
  owner: StoredObject,
  pods: readonly StoredObject[],
  cluster: ObservedCluster,
): string[] {
  const { namespace = "", uid = "" } = owner.metadata;
  const wrong = pods.flatMap((pod) =>
    claimsOf(pod).flatMap((name) => {
      const claim = cluster.server.cluster.get(resource, { namespace, name });
      if (claim === undefined) return [`claim ${name} is missing`];
      // It goes as soon as its pod does: somebody has deleted it.
      if (isTerminating(claim)) return [];
      if (owner.kind === "StatefulSet") return [...wrongOwners(owner, claim), ...tooSmall(owner, pod, claim)];
      return isTheirs(claim) || controllerOf(claim)?.uid === uid ? [] : [`claim ${name} is not its own`];
    }),
  );
  if (owner.kind !== "CloneSet" || isReused(owner)) return wrong;
  // One that was taken from its set has its claims still.
  const used = new Set(cluster.objects("pods", namespace).flatMap(claimsOf));
  const left = cluster
    .objects(resource, namespace)
    .filter((claim) => controllerOf(claim)?.uid === uid && !used.has(claim.metadata.name ?? ""))
    .map(({ metadata }) => `claim ${metadata.name} is left of a pod that is gone`);
  return [...wrong, ...left];
}

function wrongOwners(set: StoredObject, claim: StoredObject): string[] {
  const goes = retention(set, "whenDeleted") === "Delete";
  const isOfPod = claim.metadata.ownerReferences?.some(({ kind }) => kind === "Pod") === true;
  if (isOfPod) return [`claim ${claim.metadata.name} is to go with its pod, which stays`];
  return hasOwner(claim, set.metadata.uid ?? "") === goes
    ? []
    : [`claim ${claim.metadata.name} ${goes ? "does not go" : "goes"} with its StatefulSet`];
}

/** Where claims grow with their templates, as pods are updated. */
function tooSmall(set: StoredObject, pod: StoredObject, claim: StoredObject): string[] {
  const rolling = at(set, "spec", "updateStrategy", "rollingUpdate");
  if (textAt(set, "spec", "volumeClaimUpdateStrategy", "type") !== "OnPodRollingUpdate") return [];
  const below = Array.from({ length: ordinalOf(pod) }, (_, ordinal) => ordinal);
  const rank = below.filter((ordinal) => hasOrdinal(set, ordinal)).length;
  if (at(rolling, "paused") === true || rank < Number(at(rolling, "partition") ?? 0)) return [];
  const { name } = claim.metadata;
  const template = listAt(set, "spec", "volumeClaimTemplates").find(
    (each) => `${textAt(each, "metadata", "name")}-${pod.metadata.name}` === name,
  );
  const wanted = sizeOf(template, "spec", "resources", "requests");
  return sizeOf(claim, "spec", "resources", "requests") >= wanted &&
    sizeOf(claim, "status", "capacity") >= wanted
    ? []
    : [`claim ${name} is smaller than ${wanted}Gi`];
}

/** In GiB, as all are in stories. */
function sizeOf(value: unknown, ...path: readonly string[]): number {
  return Number.parseInt(textAt(value, ...path, "storage"), 10) || 0;
}

function isThere({ isGone, states }: SeenOwner): boolean {
  const last = states.at(-1);
  return !isGone && last !== undefined && !isTerminating(last.object);
}

function isTheirs({ metadata }: StoredObject): boolean {
  return metadata.labels?.[theirsLabel] === "true";
}

function isReused(set: StoredObject): boolean {
  return at(set, "spec", "scaleStrategy", "enablePVCReuse") === true;
}

function retention(set: StoredObject, when: "whenScaled" | "whenDeleted"): string {
  return textAt(set, "spec", "persistentVolumeClaimRetentionPolicy", when);
}

function templateNames(set: StoredObject | undefined): string[] {
  return listAt(set, "spec", "volumeClaimTemplates").map((template) => textAt(template, "metadata", "name"));
}

function hasOwner({ metadata }: StoredObject, uid: string): boolean {
  return metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
}

/** When it was deleted. */
function endOf({ states }: SeenPod): number {
  return (states.find(({ object }) => !isActive(object)) ?? states.at(-1))?.since ?? 0;
}
