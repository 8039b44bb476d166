/** What of a cluster behaves otherwise here; docs/compatibility.md has the reasons. */
import type { FeatureGates } from "../../controller/index.ts";
import { compileSelector, keyOf, type LabelSelector } from "../../kube/core/index.ts";
import { type AnyObject, at, isFields, listAt, textAt } from "../fields.ts";
import { refOfObject } from "../install/apply.ts";

export interface Surroundings {
  /** Objects of the API, by kind. */
  readonly objects: ReadonlyMap<string, readonly AnyObject[]>;
  readonly namespaces: readonly AnyObject[];
  /** Of the former manager's webhook of new pods: the namespaces that it serves; undefined where none is registered. */
  readonly servedNamespaces: LabelSelector | undefined;
  /** ConfigMap `kruise-configuration`. Spec: platform 5. */
  readonly configuration: AnyObject | undefined;
  readonly gates: FeatureGates;
  /** Names of the manager's flags, without dashes. */
  readonly flags: readonly string[];
  /** Flags that this program's controller takes. */
  readonly knownFlags: ReadonlySet<string>;
}

/** What the reference's chart registers. Spec: platform 4.4, NS1. */
const chartNamespaces: LabelSelector = {
  matchExpressions: [
    { key: "control-plane", operator: "NotIn", values: ["openkruise"] },
    { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kube-system"] },
  ],
};

/** Kinds that update pods of their own in place. */
const trackedKinds = ["CloneSet", "StatefulSet", "DaemonSet"];

type Rule = (cluster: Surroundings) => readonly string[];

/** Sentences, in the order of the rules. */
export function differencesOf(cluster: Surroundings): string[] {
  return rules.flatMap((rule) => rule(cluster));
}

const rules: readonly Rule[] = [
  ({ flags, knownFlags }) =>
    flags
      .filter((name) => !knownFlags.has(name))
      .map((name) => `flag --${name} of the manager is not known here: it is left out`),
  ({ gates }) =>
    gates.ResourceDistributionGate
      ? [
          "gate ResourceDistributionGate needs the right to write all Secrets and ConfigMaps: --distribute-resources",
        ]
      : [],
  ({ gates }) =>
    gates.DeletionProtectionForCRDCascadingGate
      ? [
          "gate DeletionProtectionForCRDCascadingGate needs the right to list all objects: --guard-definitions",
        ]
      : [],
  ({ namespaces, servedNamespaces }) => {
    const served = compileSelector(servedNamespaces ?? chartNamespaces);
    return namespaces
      .filter(({ metadata: { name = "", labels = {} } }) => {
        const named = { "kubernetes.io/metadata.name": name, ...labels };
        return labels["control-plane"] !== undefined && served.matches(named);
      })
      .map(
        ({ metadata: { name = "" } }) =>
          `namespace ${name} has the label control-plane: the former manager serves its pods, here they get no sidecars, no placement and no protection; to have them served: kubectl label namespace ${name} control-plane-`,
      );
  },
  ({ objects, flags }) =>
    trackedKinds.some((kind) => objects.has(kind)) && !flags.includes("keep-managed-fields")
      ? [
          "managedFields of the pods of workloads are kept by the former manager: here they go with the first update in place, unless somebody uses server-side apply on the pod; --keep-managed-fields keeps them",
        ]
      : [],
  ({ configuration }) => {
    const list = textAt(configuration, "data", "PPS_Watch_Custom_Workload_WhiteList") ?? "";
    return list === ""
      ? []
      : [
          "PPS_Watch_Custom_Workload_WhiteList is not carried out: PersistentPodStates of those kinds are refused",
        ];
  },
  ({ objects }) =>
    named(objects, "SidecarSet", (set) =>
      [
        ...listAt(set, "spec", "containers"),
        ...listAt(set, "spec", "initContainers").filter((one) => textAt(one, "restartPolicy") === "Always"),
      ].some(
        (container) =>
          textAt(container, "upgradeStrategy", "upgradeType") === "HotUpgrade" &&
          (textAt(container, "upgradeStrategy", "hotUpgradeEmptyImage") ?? "") === "",
      ),
    ).map(
      (name) =>
        `SidecarSet ${name} has HotUpgrade without hotUpgradeEmptyImage: one like it could not be created here`,
    ),
  ({ objects }) =>
    named(objects, "ImageListPullJob", (job) => textAt(job, "status", "completionTime") === undefined).map(
      (name) =>
        `ImageListPullJob ${name} is not complete: its jobs are made anew once, and images pulled already are found`,
    ),
  ({ objects }) =>
    named(objects, "ContainerRecreateRequest", (request) => {
      const phase = textAt(request, "status", "phase") ?? "Pending";
      return phase !== "Completed" && phase !== "Succeeded" && phase !== "Failed";
    }).map(
      (name) =>
        `ContainerRecreateRequest ${name} is under way: it goes on here, and restarts what it asks for`,
    ),
  ({ objects }) =>
    named(objects, "DaemonSet", (set) => {
      const partition = at(set, "spec", "updateStrategy", "rollingUpdate", "partition");
      return typeof partition === "string" && partition.endsWith("%");
    }).map(
      (name) => `DaemonSet ${name} has a partition in percent: it refers to the nodes that are wanted now`,
    ),
];

function named(
  objects: Surroundings["objects"],
  kind: string,
  applies: (object: AnyObject) => boolean,
): string[] {
  return (objects.get(kind) ?? [])
    .filter((object) => isFields(object) && applies(object))
    .map((object) => keyOf(refOfObject(object)));
}
