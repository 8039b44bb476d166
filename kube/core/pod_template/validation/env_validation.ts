/** Environment variables of a container. */
import { notSupported } from "../../field_errors.ts";
import {
  configKeyErrors,
  dnsLabelErrors,
  dnsSubdomainErrors,
  envNameErrors,
  qualifiedNameErrors,
} from "../../names.ts";
import { canonicalQuantity, isQuantity, quantityEqual } from "../../quantity.ts";
import type { Cursor } from "./cursor.ts";
import { prefixErrors } from "./object_meta.ts";
import { backstepErrors } from "./path_rules.ts";

export function validateEnv(container: Cursor): void {
  for (const env of container.objects("env")) {
    if (env.needsText("name")) env.follows("name", envNameErrors);
    const source = env.object("valueFrom");
    if (source !== undefined) validateSource(source, env.text("value"));
  }
  for (const from of container.objects("envFrom")) {
    from.followsIfSet("prefix", envNameErrors);
    const sources = ["configMapRef", "secretRef"].flatMap((key) => from.object(key) ?? []);
    for (const source of sources) {
      if (source.needsText("name")) source.follows("name", (name) => prefixErrors(name, dnsSubdomainErrors));
    }
    if (sources.length === 0) {
      container.invalid("envFrom", "", "must specify one of: `configMapRef` or `secretRef`");
    } else if (sources.length > 1) {
      container.invalid("envFrom", "", "may not have more than one field specified at a time");
    }
  }
}

function validateSource(source: Cursor, literal: string): void {
  let count = 0;
  for (const [key, validate] of Object.entries(sources)) {
    const reference = source.object(key);
    if (reference === undefined) continue;
    count++;
    validate(reference);
  }
  if (count === 0) {
    const list = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`";
    source.invalid("", "", `must specify one of: ${list}`);
  } else if (literal !== "") {
    source.invalid("", "", "may not be specified when `value` is not empty");
  } else if (count > 1) {
    source.invalid("", "", "may not have more than one field specified at a time");
  }
}

const sources: Readonly<Record<string, (reference: Cursor) => void>> = {
  fieldRef: (reference) => validateFieldRef(reference, envFields),
  resourceFieldRef: (reference) => validateResourceFieldRef(reference, false),
  configMapKeyRef: validateKeyRef,
  secretKeyRef: validateKeyRef,
  fileKeyRef: validateFileKeyRef,
};

function validateKeyRef(reference: Cursor): void {
  reference.follows("name", dnsSubdomainErrors);
  if (reference.needsText("key")) reference.follows("key", configKeyErrors);
}

function validateFileKeyRef(reference: Cursor): void {
  if (reference.needsText("key")) reference.follows("key", envNameErrors);
  if (reference.needsText("volumeName")) reference.follows("volumeName", dnsLabelErrors);
  if (reference.needsText("path")) reference.follows("path", backstepErrors);
}

const envFields = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];
/** Fields that volumes can hold; they have the whole maps too. */
export const volumeFields = [
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
];
const knownFields = [
  ...envFields,
  ...volumeFields,
  "spec.host",
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
];

export function validateFieldRef(reference: Cursor, allowed: readonly string[]): void {
  if (!reference.needsText("apiVersion") || !reference.needsText("fieldPath")) return;
  const fieldPath = reference.text("fieldPath");
  const subscript = /^([^[]+)\['(.*)'\]$/s.exec(fieldPath);
  const problem = fieldPathProblem(reference.text("apiVersion"), fieldPath, subscript?.[1]);
  if (problem !== undefined) {
    reference.invalid("fieldPath", fieldPath, `error converting fieldPath: ${problem}`);
  } else if (subscript !== null) {
    const [, map, key = ""] = subscript;
    const name = map === "metadata.annotations" ? key.toLowerCase() : key;
    reference.complain("", name, qualifiedNameErrors(name));
  } else {
    const path = fieldPath === "spec.host" ? "spec.nodeName" : fieldPath;
    if (!allowed.includes(path)) reference.add(notSupported(reference.at("fieldPath"), path, allowed));
  }
}

/** Why a field path means nothing; `map` is what stands before a subscript. */
function fieldPathProblem(version: string, fieldPath: string, map: string | undefined): string | undefined {
  if (version !== "v1") return `unsupported pod version: ${version}`;
  if (map !== undefined) {
    const subscripted = map === "metadata.annotations" || map === "metadata.labels";
    return subscripted ? undefined : `field label does not support subscript: ${fieldPath}`;
  }
  return knownFields.includes(fieldPath) ? undefined : `field label not supported: ${fieldPath}`;
}

const resourceFields = ["cpu", "ephemeral-storage", "memory"];
const resourcePaths = ["limits", "requests"].flatMap((list) =>
  resourceFields.map((name) => `${list}.${name}`),
);
const byteDivisors = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

export function validateResourceFieldRef(reference: Cursor, inVolume: boolean): void {
  const resource = reference.text("resource");
  const hugePages = /^(limits|requests)\.hugepages-/.test(resource);
  if (inVolume && reference.text("containerName") === "") reference.required("containerName");
  else if (resource === "") reference.required("resource");
  else if (!resourcePaths.includes(resource) && !hugePages) {
    reference.add(notSupported(reference.at("resource"), resource, resourcePaths));
  }
  const divisor = reference.value["divisor"];
  if (!isQuantity(divisor) || quantityEqual(divisor, "0")) return;
  const name = resource.replace(/^(limits|requests)\./, "");
  const words: Readonly<Record<string, string>> = {
    cpu: "cpu",
    memory: "memory",
    "ephemeral-storage": "local ephemeral storage",
  };
  const word = hugePages ? "hugepages" : words[name];
  if (word === undefined) return;
  const allowed = word === "cpu" ? ["1m", "1"] : byteDivisors;
  if (allowed.includes(canonicalQuantity(divisor))) return;
  const list = word === "cpu" ? "1m and 1" : byteDivisors.join(", ");
  reference.invalid(
    "divisor",
    resource,
    `only divisor's values ${list} are supported with the ${word} resource`,
  );
}
