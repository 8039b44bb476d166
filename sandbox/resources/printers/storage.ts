/** Tables of claims, volumes, classes, webhooks and bindings. */
import type { StoredObject } from "../../cluster.ts";
import { fieldsAt, listAt, numberAt, objectsAt, textAt, valueAt } from "../../json.ts";
import { at, type Cell, column, integer, type Printer, wide } from "../printer.ts";
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

const orUnset = (...path: readonly string[]): Cell => {
  return (object) => textAt(object, ...path) || "<unset>";
};
const volumeMode = column("VolumeMode", "Filesystem or Block.", orUnset("spec", "volumeMode"), wide);
const classColumns = [
  column("StorageClass", "Its class.", at("spec", "storageClassName")),
  column("VolumeAttributesClass", "Its class of attributes.", orUnset("spec", "volumeAttributesClassName")),
];
const phase: Cell = (object) =>
  object.metadata.deletionTimestamp === undefined ? textAt(object, "status", "phase") : "Terminating";
const isBound = (claim: StoredObject): boolean => textAt(claim, "spec", "volumeName") !== "";

const subjects = (object: StoredObject, kind: string): string =>
  objectsAt(object, "subjects")
    .filter((subject) => subject["kind"] === kind)
    .map((subject) =>
      kind === "ServiceAccount"
        ? `${textAt(subject, "namespace")}/${textAt(subject, "name")}`
        : textAt(subject, "name"),
    )
    .join(", ");

const webhooks = simple([
  column("Webhooks", "Number of webhooks.", (object) => objectsAt(object, "webhooks").length, integer),
]);
const bindings = simple(
  [
    column("Role", "The granted role.", (object) => {
      return `${textAt(object, "roleRef", "kind")}/${textAt(object, "roleRef", "name")}`;
    }),
  ],
  ["User", "Group", "ServiceAccount"].map((kind) =>
    column(`${kind}s`, "Who has the role.", (object) => subjects(object, kind), wide),
  ),
);

export const storagePrinters: Readonly<Record<string, Printer>> = {
  persistentvolumeclaims: simple(
    [
      column("Status", "Pending, Bound or Lost.", phase),
      column("Volume", "The bound volume.", at("spec", "volumeName")),
      column("Capacity", "Its size.", (object) =>
        isBound(object) ? textAt(object, "status", "capacity", "storage") : "",
      ),
      column("Access Modes", "Who may mount it.", (object) =>
        isBound(object) ? modes(listAt(object, "status", "accessModes")) : "",
      ),
      ...classColumns,
    ],
    [volumeMode],
  ),
  persistentvolumes: simple(
    [
      column("Capacity", "Size.", at("spec", "capacity", "storage")),
      column("Access Modes", "Who may mount it.", (object) => modes(listAt(object, "spec", "accessModes"))),
      column(
        "Reclaim Policy",
        "What happens when its claim goes.",
        at("spec", "persistentVolumeReclaimPolicy"),
      ),
      column("Status", "Available, Bound, Released or Failed.", phase),
      column("Claim", "The bound claim.", (object) => {
        const claim = fieldsAt(object, "spec", "claimRef");
        const name = textAt(claim, "name");
        return name === "" ? "" : `${textAt(claim, "namespace")}/${name}`;
      }),
      ...classColumns,
      column("Reason", "Why it failed.", at("status", "reason")),
    ],
    [volumeMode],
  ),
  "storageclasses.storage.k8s.io": simple([
    column("Provisioner", "Who makes its volumes.", at("provisioner")),
    column("ReclaimPolicy", "What happens when a claim goes.", at("reclaimPolicy")),
    column("VolumeBindingMode", "When a volume is bound.", at("volumeBindingMode")),
    column("AllowVolumeExpansion", "Whether claims may grow.", (object) => {
      return valueAt(object, "allowVolumeExpansion") === true;
    }),
  ]),
  "priorityclasses.scheduling.k8s.io": simple(
    [
      column("Value", "The priority.", (object) => numberAt(object, "value") ?? 0, integer),
      column(
        "Global-Default",
        "For pods that name none.",
        (object) => valueAt(object, "globalDefault") === true,
        { type: "boolean" },
      ),
    ],
    [column("PreemptionPolicy", "Whether other pods give way.", at("preemptionPolicy"))],
  ),
  "mutatingwebhookconfigurations.admissionregistration.k8s.io": webhooks,
  "validatingwebhookconfigurations.admissionregistration.k8s.io": webhooks,
  "rolebindings.rbac.authorization.k8s.io": bindings,
  "clusterrolebindings.rbac.authorization.k8s.io": bindings,
};
