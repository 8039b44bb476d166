/**
 * Binds claims to volumes: to one that fits, else to a new one where the class has a provisioner. Releases and
 * deletes volumes after their claims, keeps claims in use from vanishing, and lets volumes grow with their claims.
 */
import { compileSelector, keyOf, quantityCompare, refOf } from "../../kube/core/index.ts";
import type { ClusterChange } from "../cluster.ts";
import { ClusterLoop, type LoopOptions } from "../cluster_loop.ts";
import {
  type ClaimObject,
  claimNames,
  defaultClassAnnotation,
  isClaim,
  isFinished,
  isPod,
  isStorageClass,
  isVolume,
  type PodObject,
  type StorageClassObject,
  selectedNodeAnnotation,
  type VolumeObject,
} from "../objects/index.ts";

/** Classes with this provisioner have only the volumes that somebody made. */
const noProvisioner = "kubernetes.io/no-provisioner";
const provisionedBy = "pv.kubernetes.io/provisioned-by";
const protection = "kubernetes.io/pvc-protection";
const claims = "persistentvolumeclaims";
const volumes = "persistentvolumes";
const classes = "storageclasses.storage.k8s.io";

export class VolumeBinder extends ClusterLoop {
  /** Claim key -> UIDs of pods that have a node, are unfinished and mount it. */
  readonly #users = new Map<string, Set<string>>();
  /** Keys of claims that found no volume. */
  readonly #unbound = new Set<string>();
  /** Class -> names of volumes that no claim has; claim key -> name of the volume reserved for it. */
  readonly #free = new Map<string, Set<string>>();
  readonly #reserved = new Map<string, string>();

  constructor(options: LoopOptions) {
    super(options);
    this.follow("pods", (change) => this.#podChanged(change));
    this.follow(volumes, (change) => this.#volumeChanged(change));
    this.follow(claims, (change) => this.#claimChanged(change));
    this.watch(classes, () => this.#retry());
  }

  protected override work(key: string): undefined {
    if (key.startsWith("claim:")) this.#claim(key.slice(6));
    else this.#volume(key.slice(7));
  }

  #claimChanged(change: ClusterChange): void {
    const { namespace = "", name = "" } = change.object.metadata;
    const key = keyOf({ namespace, name });
    if (change.type === "DELETED") {
      this.#unbound.delete(key);
      const volume = isClaim(change.object) ? change.object.spec.volumeName : undefined;
      if (volume) this.agenda.add(`volume:${volume}`);
    } else {
      this.agenda.add(`claim:${key}`);
    }
  }

  #volumeChanged(change: ClusterChange): void {
    const volume = change.object;
    const { name = "", deletionTimestamp } = volume.metadata;
    if (!isVolume(volume)) return;
    const { claimRef, storageClassName = "" } = volume.spec;
    const there = change.type !== "DELETED" && deletionTimestamp === undefined;
    const free = this.#free.get(storageClassName) ?? new Set();
    this.#free.set(storageClassName, free);
    if (there && !claimRef) free.add(name);
    else free.delete(name);
    if (claimRef?.name) {
      const key = keyOf({ namespace: claimRef.namespace ?? "", name: claimRef.name });
      if (there) this.#reserved.set(key, name);
      else if (this.#reserved.get(key) === name) this.#reserved.delete(key);
    }
    if (change.type !== "DELETED") this.agenda.add(`volume:${name}`);
    if (there) this.#retry();
  }

  #retry(): void {
    for (const key of this.#unbound) this.agenda.add(`claim:${key}`);
  }

  #podChanged(change: ClusterChange): void {
    const pod = change.object;
    if (!isPod(pod) || !pod.spec.volumes) return;
    const uid = pod.metadata.uid ?? "";
    const wants = change.type !== "DELETED" && !isFinished(pod);
    // A pod without a node protects nothing: no kubelet has mounted anything for it.
    const uses = wants && (pod.spec.nodeName ?? "") !== "";
    for (const name of claimNames(pod)) {
      const key = keyOf({ namespace: pod.metadata.namespace ?? "", name });
      const users = this.#users.get(key) ?? new Set();
      if (wants && !users.has(uid)) this.#makeEphemeral(pod, name);
      if (uses === users.has(uid)) continue;
      if (uses) {
        users.add(uid);
        this.#users.set(key, users);
      } else {
        users.delete(uid);
        if (users.size === 0) this.#users.delete(key);
        this.agenda.add(`claim:${key}`);
      }
    }
  }

  /** Generic ephemeral volumes: the pod owns a claim of its own. */
  #makeEphemeral(pod: PodObject, claimName: string): void {
    const { namespace = "", name = "", uid = "" } = pod.metadata;
    const volume = pod.spec.volumes?.find(
      (entry) => entry.ephemeral && `${name}-${entry.name}` === claimName,
    );
    const template = volume?.ephemeral?.volumeClaimTemplate;
    if (!template || this.options.cluster.get(claims, { namespace, name: claimName })) return;
    this.options.cluster.create(claims, {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        ...template.metadata,
        namespace,
        name: claimName,
        ownerReferences: [
          { apiVersion: "v1", kind: "Pod", name, uid, controller: true, blockOwnerDeletion: true },
        ],
      },
      spec: template.spec,
    });
  }

  #claim(key: string): void {
    const claim = this.options.cluster.get(claims, refOf(key));
    this.#unbound.delete(key);
    if (!isClaim(claim)) return;
    if (claim.metadata.deletionTimestamp) {
      if (!this.#users.has(key)) this.#letGo(key);
      return;
    }
    const volume = claim.spec.volumeName
      ? this.#named(claim.spec.volumeName, claim)
      : this.#findOrMake(claim);
    if (volume) this.#bind(key, claim, volume);
    else this.#unbound.add(key);
  }

  #letGo(key: string): void {
    this.options.cluster.update(claims, refOf(key), (draft) => {
      const finalizers = (draft.metadata.finalizers ?? []).filter((finalizer) => finalizer !== protection);
      draft.metadata.finalizers = finalizers;
    });
  }

  #named(name: string, claim: ClaimObject): VolumeObject | undefined {
    const volume = this.options.cluster.get(volumes, { name });
    return isVolume(volume) && isFor(volume, claim) ? this.#grown(volume, claim) : undefined;
  }

  /** As by a driver that grows volumes while they are mounted: nothing waits for a restart of the pod. */
  #grown(volume: VolumeObject, claim: ClaimObject): VolumeObject {
    const { name = "" } = volume.metadata;
    const wanted = claim.spec.resources?.requests?.["storage"] ?? "0";
    const storageClass = this.#classOf(claim);
    const canGrow = storageClass?.allowVolumeExpansion === true && storageClass.provisioner !== noProvisioner;
    if (!canGrow || quantityCompare(volume.spec.capacity?.["storage"] ?? "0", wanted) >= 0) return volume;
    const grown = this.options.cluster.update(volumes, { name }, (draft) => {
      if (isVolume(draft)) draft.spec.capacity = { ...draft.spec.capacity, storage: wanted };
    });
    return isVolume(grown) ? grown : volume;
  }

  #findOrMake(claim: ClaimObject): VolumeObject | undefined {
    const storageClass = this.#classOf(claim);
    const waits = storageClass?.volumeBindingMode === "WaitForFirstConsumer";
    if (waits && !claim.metadata.annotations?.[selectedNodeAnnotation]) return undefined;
    const className = storageClass?.metadata.name ?? claim.spec.storageClassName ?? "";
    const found = this.#reservedFor(claim) ?? this.#smallestFitting(claim, className);
    if (found || !storageClass || storageClass.provisioner === noProvisioner) return found;
    return this.#provision(claim, storageClass);
  }

  /** The class of a claim: the named one, or the default when none is named (the empty name is none on purpose). */
  #classOf(claim: ClaimObject): StorageClassObject | undefined {
    const name = claim.spec.storageClassName;
    if (name === "") return undefined;
    if (name !== undefined) {
      const named = this.options.cluster.get(classes, { name });
      return isStorageClass(named) ? named : undefined;
    }
    for (const candidate of this.options.cluster.list(classes)) {
      const isDefault = candidate.metadata.annotations?.[defaultClassAnnotation] === "true";
      if (isDefault && isStorageClass(candidate)) return candidate;
    }
    return undefined;
  }

  #reservedFor(claim: ClaimObject): VolumeObject | undefined {
    const { namespace = "", name = "" } = claim.metadata;
    const volumeName = this.#reserved.get(keyOf({ namespace, name }));
    return volumeName === undefined ? undefined : this.#named(volumeName, claim);
  }

  #smallestFitting(claim: ClaimObject, className: string): VolumeObject | undefined {
    const selector = claim.spec.selector && compileSelector(claim.spec.selector);
    const asked = claim.spec.resources?.requests?.["storage"] ?? "0";
    let best: VolumeObject | undefined;
    for (const name of this.#free.get(className) ?? []) {
      const volume = this.options.cluster.get(volumes, { name });
      if (!isVolume(volume) || volume.spec.claimRef || !offers(volume, claim, asked)) continue;
      if (selector && !selector.matches(volume.metadata.labels)) continue;
      if (!best || isSmaller(volume, best)) best = volume;
    }
    return best;
  }

  #provision(claim: ClaimObject, storageClass: StorageClassObject): VolumeObject | undefined {
    const name = `pvc-${claim.metadata.uid}`;
    const present = this.options.cluster.get(volumes, { name });
    if (isVolume(present)) return present;
    const created = this.options.cluster.create(volumes, {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name, annotations: { [provisionedBy]: storageClass.provisioner } },
      spec: {
        capacity: { storage: claim.spec.resources?.requests?.["storage"] ?? "0" },
        accessModes: claim.spec.accessModes ?? ["ReadWriteOnce"],
        volumeMode: claim.spec.volumeMode ?? "Filesystem",
        persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? "Delete",
        storageClassName: storageClass.metadata.name,
        claimRef: referenceTo(claim),
        csi: { driver: storageClass.provisioner, volumeHandle: name },
      },
    });
    return isVolume(created) ? created : undefined;
  }

  #bind(key: string, claim: ClaimObject, volume: VolumeObject): void {
    const { cluster } = this.options;
    const name = volume.metadata.name ?? "";
    cluster.update(volumes, { name }, (draft) => {
      if (!isVolume(draft)) return;
      draft.spec.claimRef = { ...draft.spec.claimRef, ...referenceTo(claim) };
      draft.status = { ...draft.status, phase: "Bound" };
    });
    cluster.update(claims, refOf(key), (draft) => {
      if (!isClaim(draft) || draft.metadata.uid !== claim.metadata.uid) return;
      draft.spec.volumeName = name;
      const finalizers = draft.metadata.finalizers ?? [];
      if (!finalizers.includes(protection)) draft.metadata.finalizers = [...finalizers, protection];
      draft.metadata.annotations = {
        ...draft.metadata.annotations,
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
      };
      draft.status = {
        ...draft.status,
        phase: "Bound",
        accessModes: volume.spec.accessModes ?? [],
        capacity: volume.spec.capacity ?? {},
      };
    });
  }

  #volume(name: string): void {
    const { cluster } = this.options;
    const volume = cluster.get(volumes, { name });
    if (!isVolume(volume) || volume.metadata.deletionTimestamp) return;
    const { claimRef } = volume.spec;
    const claim =
      claimRef?.name && cluster.get(claims, { namespace: claimRef.namespace ?? "", name: claimRef.name });
    if (claimRef?.uid && (!claim || claim.metadata.uid !== claimRef.uid)) {
      if (volume.spec.persistentVolumeReclaimPolicy === "Delete") cluster.remove(volumes, { name });
      else this.#setPhase(name, "Released");
    } else if (!claimRef?.uid && volume.status?.phase !== "Available") {
      this.#setPhase(name, "Available");
    }
  }

  #setPhase(name: string, phase: string): void {
    this.options.cluster.update(volumes, { name }, (draft) => {
      if (isVolume(draft)) draft.status = { ...draft.status, phase };
    });
  }
}

function referenceTo(claim: ClaimObject) {
  const { namespace = "", name = "", uid = "", resourceVersion = "" } = claim.metadata;
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid, resourceVersion };
}

/** Whether a volume is free for, or reserved for, this claim. */
function isFor({ spec: { claimRef } }: VolumeObject, { metadata }: ClaimObject): boolean {
  if (!claimRef) return true;
  if (claimRef.name !== metadata.name || claimRef.namespace !== metadata.namespace) return false;
  return !claimRef.uid || claimRef.uid === metadata.uid;
}

function offers({ spec }: VolumeObject, { spec: wanted }: ClaimObject, asked: string): boolean {
  if ((spec.volumeMode ?? "Filesystem") !== (wanted.volumeMode ?? "Filesystem")) return false;
  if (!(wanted.accessModes ?? []).every((mode) => spec.accessModes?.includes(mode))) return false;
  return quantityCompare(spec.capacity?.["storage"] ?? "0", asked) >= 0;
}

function isSmaller(left: VolumeObject, right: VolumeObject): boolean {
  return quantityCompare(left.spec.capacity?.["storage"] ?? "0", right.spec.capacity?.["storage"] ?? "0") < 0;
}
