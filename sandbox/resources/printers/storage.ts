/** Tables of claims, volumes and classes. */
import type { StoredObject } from "../../cluster.ts";
import { fieldsAt, listAt, numberAt, objectsAt, textAt, valueAt } from "../../json.ts";
import { column } from "../printer.ts";
import { simple } from "./parts.ts";

const modeNames: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};

function modes(value: readonly unknown[]): string {
  return [...new Set(value.map((mode) => modeNames[String(mode)] ?? String(mode)))].join(",");
}

const modeColumn = column("VolumeMode", "Filesystem or Block.", { priority: 1 });
const modeCell = (object: StoredObject): string[] => [textAt(object, "spec", "volumeMode") || "<unset>"];

export const claimPrinter = simple(
  [
    column("Status", "Pending, Bound or Lost."),
    column("Volume", "The bound volume."),
    column("Capacity", "Its size."),
    column("Access Modes", "Who may mount it."),
    column("StorageClass", "Its class."),
    column("VolumeAttributesClass", "Its class of attributes."),
  ],
  (object) => {
    const bound = textAt(object, "spec", "volumeName") !== "";
    const terminating = object.metadata.deletionTimestamp !== undefined;
    return [
      terminating ? "Terminating" : textAt(object, "status", "phase"),
      textAt(object, "spec", "volumeName"),
      bound ? textAt(object, "status", "capacity", "storage") : "",
      bound ? modes(listAt(object, "status", "accessModes")) : "",
      textAt(object, "spec", "storageClassName"),
      textAt(object, "spec", "volumeAttributesClassName") || "<unset>",
    ];
  },
  [modeColumn],
  modeCell,
);

export const volumePrinter = simple(
  [
    column("Capacity", "Size."),
    column("Access Modes", "Who may mount it."),
    column("Reclaim Policy", "What happens when its claim goes."),
    column("Status", "Available, Bound, Released or Failed."),
    column("Claim", "The bound claim."),
    column("StorageClass", "Its class."),
    column("VolumeAttributesClass", "Its class of attributes."),
    column("Reason", "Why it failed."),
  ],
  (object) => {
    const claim = fieldsAt(object, "spec", "claimRef");
    const terminating = object.metadata.deletionTimestamp !== undefined;
    return [
      textAt(object, "spec", "capacity", "storage"),
      modes(listAt(object, "spec", "accessModes")),
      textAt(object, "spec", "persistentVolumeReclaimPolicy"),
      terminating ? "Terminating" : textAt(object, "status", "phase"),
      textAt(claim, "name") === "" ? "" : `${textAt(claim, "namespace")}/${textAt(claim, "name")}`,
      textAt(object, "spec", "storageClassName"),
      textAt(object, "spec", "volumeAttributesClassName") || "<unset>",
      textAt(object, "status", "reason"),
    ];
  },
  [modeColumn],
  modeCell,
);

export const storageClassPrinter = simple(
  [
    column("Provisioner", "Who makes its volumes."),
    column("ReclaimPolicy", "What happens when a claim goes."),
    column("VolumeBindingMode", "When a volume is bound."),
    column("AllowVolumeExpansion", "Whether claims may grow."),
  ],
  (object) => [
    textAt(object, "provisioner"),
    textAt(object, "reclaimPolicy"),
    textAt(object, "volumeBindingMode"),
    valueAt(object, "allowVolumeExpansion") === true,
  ],
);

export const priorityClassPrinter = simple(
  [
    column("Value", "The priority.", { type: "integer" }),
    column("Global-Default", "For pods that name none.", { type: "boolean" }),
  ],
  (object) => [numberAt(object, "value") ?? 0, valueAt(object, "globalDefault") === true],
  [column("PreemptionPolicy", "Whether other pods give way.")],
  (object) => [textAt(object, "preemptionPolicy")],
);

export const webhookPrinter = simple(
  [column("Webhooks", "Number of webhooks.", { type: "integer" })],
  (object) => [objectsAt(object, "webhooks").length],
);

const subjects = (object: StoredObject, kind: string): string =>
  objectsAt(object, "subjects")
    .filter((subject) => subject["kind"] === kind)
    .map((subject) =>
      kind === "ServiceAccount"
        ? `${textAt(subject, "namespace")}/${textAt(subject, "name")}`
        : textAt(subject, "name"),
    )
    .join(", ");

export const bindingPrinter = simple(
  [column("Role", "The granted role.")],
  (object) => [`${textAt(object, "roleRef", "kind")}/${textAt(object, "roleRef", "name")}`],
  ["Users", "Groups", "ServiceAccounts"].map((name) => column(name, "Who has the role.", { priority: 1 })),
  (object) => [subjects(object, "User"), subjects(object, "Group"), subjects(object, "ServiceAccount")],
);
