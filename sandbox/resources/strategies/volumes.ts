/** Claims, volumes and storage classes. */
import {
  cloneJson,
  type FieldError,
  forbidden,
  jsonEqual,
  quantityCompare,
} from "../../../kube/core/index.ts";
import type { StoredObject } from "../../cluster.ts";
import { fieldsAt, setAt, textAt, valueAt } from "../../json.ts";
import type { Strategy, WriteContext } from "../resource.ts";
import { initialStatus } from "./initial_status.ts";

const defaultClass = "storageclass.kubernetes.io/is-default-class";

function defaultClaim(draft: StoredObject): void {
  const spec = fieldsAt(draft, "spec");
  draft["spec"] = spec;
  spec["volumeMode"] ??= "Filesystem";
}

function chooseClass(draft: StoredObject, context: WriteContext): void {
  const spec = fieldsAt(draft, "spec");
  if (spec["storageClassName"] !== undefined) return;
  for (const candidate of context.list("storageclasses.storage.k8s.io")) {
    if (candidate.metadata.annotations?.[defaultClass] === "true") {
      spec["storageClassName"] = candidate.metadata.name;
      return;
    }
  }
}

const frozenClaim =
  "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

function validateClaimUpdate(object: StoredObject, stored: StoredObject): FieldError[] {
  const before = fieldsAt(stored, "spec");
  const after = cloneJson(fieldsAt(object, "spec"));
  const bound = textAt(stored, "status", "phase") === "Bound";
  const wanted = valueAt(after, "resources", "requests", "storage");
  const old = valueAt(before, "resources", "requests", "storage");
  const errors: FieldError[] = [];
  if (textAt(before, "volumeName") === "") setAt(after, ["volumeName"], before["volumeName"]);
  if (bound) {
    setAt(after, ["resources"], before["resources"]);
    setAt(after, ["volumeAttributesClassName"], before["volumeAttributesClassName"]);
    if (typeof wanted === "string" && typeof old === "string" && quantityCompare(wanted, old) < 0) {
      errors.push(forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"));
    }
  }
  if (!jsonEqual(after, before)) errors.push(forbidden("spec", frozenClaim));
  return errors;
}

export const storageRules: Readonly<Record<string, Partial<Strategy>>> = {
  persistentvolumeclaims: {
    defaults: defaultClaim,
    admit(draft, context) {
      if (draft.metadata.uid === undefined) chooseClass(draft, context);
    },
    prepareCreate: initialStatus({ phase: "Pending" }),
    validateUpdate: validateClaimUpdate,
  },
  persistentvolumes: {
    defaults(draft) {
      const spec = fieldsAt(draft, "spec");
      draft["spec"] = spec;
      spec["persistentVolumeReclaimPolicy"] ??= "Retain";
      spec["volumeMode"] ??= "Filesystem";
    },
    prepareCreate: initialStatus({ phase: "Pending" }),
  },
  "storageclasses.storage.k8s.io": {
    defaults(draft) {
      draft["reclaimPolicy"] ??= "Delete";
      draft["volumeBindingMode"] ??= "Immediate";
    },
  },
};
