/** Claims for volumes: templates inside pods and of workloads. */
import { notSupported } from "../../field_errors.ts";
import { dnsLabelErrors, dnsSubdomainErrors } from "../../names.ts";
import { canonicalQuantity, isQuantity, parseQuantity } from "../../quantity.ts";
import { validateLabels, validateSelector } from "../../selector.ts";
import type { Cursor } from "./cursor.ts";
import { textMap, validateAnnotations } from "./object_meta.ts";
import { selectorInput } from "./selector_input.ts";

const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/** A claim that is made for each pod; only labels and annotations of its metadata count. */
export function validateClaimTemplate(template: Cursor): void {
  const meta = template.object("metadata");
  if (meta !== undefined) {
    meta.add(...validateLabels(textMap(meta, "labels"), meta.at("labels")));
    meta.add(...validateAnnotations(textMap(meta, "annotations"), meta.at("annotations")));
    for (const key of Object.keys(meta.value)) {
      if (["labels", "annotations", "creationTimestamp"].includes(key) || !meta.has(key)) continue;
      meta.forbidden(key, "cannot be set");
    }
  }
  validateSpec(template.objectOrEmpty("spec"));
}

function validateSpec(spec: Cursor): void {
  const modes = spec.texts("accessModes");
  if (modes.length === 0) spec.required("accessModes", "at least 1 access mode is required");
  spec.add(...validateSelector(selectorInput(spec.object("selector")), spec.at("selector")));
  for (const mode of modes) {
    if (!accessModes.includes(mode)) spec.add(notSupported(spec.at("accessModes"), mode, accessModes));
  }
  const known = modes.filter((mode) => accessModes.includes(mode));
  if (known.includes("ReadWriteOncePod") && known.some((mode) => mode !== "ReadWriteOncePod")) {
    spec.forbidden("accessModes", "may not use ReadWriteOncePod with other access modes");
  }
  validateStorage(spec);
  spec.followsIfSet("storageClassName", dnsSubdomainErrors);
  spec.followsIfSet("volumeAttributesClassName", dnsSubdomainErrors);
  spec.choice("volumeMode", ["Block", "Filesystem"]);
  for (const key of ["dataSource", "dataSourceRef"]) {
    const source = spec.object(key);
    if (source !== undefined) validateSource(source);
  }
}

function validateStorage(spec: Cursor): void {
  const storage = spec.object("resources")?.object("requests")?.value["storage"];
  const at = "resources[storage]";
  if (!isQuantity(storage)) spec.required(at);
  else if (parseQuantity(storage).nano <= 0n) {
    spec.invalid(at, canonicalQuantity(storage), "must be greater than zero");
  }
}

function validateSource(source: Cursor): void {
  source.needsText("name");
  source.needsText("kind");
  const kind = source.text("kind");
  if (source.text("apiGroup") === "" && kind !== "PersistentVolumeClaim") {
    source.invalid("", kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  }
  source.followsIfSet("apiGroup", dnsSubdomainErrors);
  source.followsIfSet("namespace", dnsLabelErrors);
}
