/** New pods and their claims from a template. Spec: cloneset 4.3. */

import {
  type Affinity,
  apiVersionOf,
  kinds,
  type PersistentVolumeClaim,
  type PodTemplate,
} from "../../../crds/index.ts";
import type { ObjectMeta, OwnerReference } from "../../../kube/core/index.ts";
import type { Pod, PodContainer, ResourceAmounts } from "../../../kube/index.ts";
import type { ObjectBody } from "../../plan/effects.ts";
import { CREATING } from "../writes/pending_pods.ts";

const ID_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/** Five characters that spell no words. */
export function randomId(random: () => number): string {
  let id = "";
  for (let index = 0; index < 5; index++) {
    id += ID_ALPHABET[Math.min(ID_ALPHABET.length - 1, Math.floor(random() * ID_ALPHABET.length))];
  }
  return id;
}

export function ownerReference(kind: string, name: string, uid: string): OwnerReference {
  const definition = kinds.find((each) => each.kind === kind);
  if (definition === undefined) throw new Error(`${kind} is no kind of this API`);
  return {
    apiVersion: apiVersionOf(definition),
    kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** Claim templates replace volumes of the same name. */
export function withClaimVolumes(
  template: PodTemplate,
  claims: readonly { volume: string; claim: string }[],
): PodTemplate["spec"] {
  if (claims.length === 0) return template.spec;
  const replaced = new Set(claims.map((claim) => claim.volume));
  const volumes = (template.spec.volumes ?? []).filter((volume) => !replaced.has(volume.name));
  return {
    ...template.spec,
    volumes: [
      ...volumes,
      ...claims.map(({ volume, claim }) => ({ name: volume, persistentVolumeClaim: { claimName: claim } })),
    ],
  };
}

/** The node is chosen: what the template requires of nodes has been matched; what it prefers is kept. */
export function pinnedTo(node: string, affinity: Affinity | undefined): Affinity {
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] }],
      },
    },
  };
}

/** Adds a readiness gate unless the template has it. */
export function withGates(spec: PodTemplate["spec"], gates: readonly string[]): PodTemplate["spec"] {
  const present = spec.readinessGates ?? [];
  const missing = gates.filter((gate) => !present.some((one) => one.conditionType === gate));
  if (missing.length === 0) return spec;
  return { ...spec, readinessGates: [...present, ...missing.map((conditionType) => ({ conditionType }))] };
}

export function claimBody(
  template: PersistentVolumeClaim,
  name: string,
  namespace: string,
  labels: Readonly<Record<string, string>>,
  owner: OwnerReference | undefined,
): ObjectBody {
  const { annotations, finalizers, labels: own } = template.metadata ?? {};
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name,
      namespace,
      labels: { ...own, ...labels },
      ...(annotations ? { annotations } : {}),
      ...(finalizers ? { finalizers } : {}),
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    spec: template.spec,
  };
}

/** The pod as a cache would show it right after the server accepted it: not scheduled, nothing running. */
export function acceptedPod(
  metadata: ObjectMeta & { name: string; namespace: string },
  spec: PodTemplate["spec"],
  now: number,
): Pod {
  const owner = metadata.ownerReferences?.find((reference) => reference.controller);
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: `${CREATING}${metadata.name}`,
    resourceVersion: "",
    createdAt: now,
    deletionAt: undefined,
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    finalizers: metadata.finalizers ?? [],
    fieldManagers: "updates",
    controller: owner && {
      group: owner.apiVersion.split("/")[0] ?? "",
      kind: owner.kind,
      name: owner.name,
      uid: owner.uid,
    },
    nodeName: spec.nodeName ?? "",
    pinnedTo: pinnedNode(spec),
    readinessGates: (spec.readinessGates ?? []).map((gate) => gate.conditionType),
    // A template that nobody checked may have none: that is for the server to refuse.
    containers: (spec.containers ?? []).map(projectedContainer),
    phase: "Pending",
    conditions: [],
    containerStatuses: [],
    podIP: "",
  };
}

/** The node that required affinity names by field, as the projection of a pod shows it. */
function pinnedNode(spec: PodTemplate["spec"]): string | undefined {
  const terms =
    spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  for (const { matchFields = [] } of spec.nodeName ? [] : (terms ?? [])) {
    for (const { key, operator, values } of matchFields ?? []) {
      if (key === "metadata.name" && operator === "In" && values?.length === 1) return values[0];
    }
  }
  return undefined;
}

function projectedContainer(container: PodTemplate["spec"]["containers"][number]): PodContainer {
  return {
    name: container.name,
    image: container.image ?? "",
    resources: amounts(container.resources),
    env: [],
    resizePolicy: {},
  };
}

function amounts(resources: PodTemplate["spec"]["containers"][number]["resources"]): ResourceAmounts {
  const texts = (map: Record<string, string | number> | undefined): Record<string, string> | undefined =>
    map && Object.fromEntries(Object.entries(map).map(([name, value]) => [name, String(value)]));
  const limits = texts(resources?.limits);
  const requests = texts(resources?.requests);
  return { ...(limits ? { limits } : {}), ...(requests ? { requests } : {}) };
}

/** A name that nobody has: two of thousands of pods are likely to get the same. The server refuses one that is taken after all. */
export function freeName(prefix: string, random: () => number, isTaken: (name: string) => boolean): string {
  let name = prefix + randomId(random);
  for (let attempt = 0; isTaken(name) && attempt < 100; attempt++) name = prefix + randomId(random);
  return name;
}
