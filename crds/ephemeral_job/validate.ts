/** What admission refuses in an EphemeralJob, in the API's words. Spec: containers 5.6. */

import {
  dnsLabelErrors,
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  isJsonObject,
  type JsonObject,
  notSupported,
  own,
  required,
  validateSelector,
  validateTypes,
} from "../../kube/core/index.ts";
import type { Draft } from "../kind_reader.ts";
import { textMember } from "../members.ts";
import { ratcheted } from "../ratchet.ts";
import type { EphemeralJob } from "./schema.ts";

/** All that is wrong with a decoded EphemeralJob. */
export const validateEphemeralJob = ratcheted(errorsOf);

function errorsOf({ spec }: Draft<EphemeralJob>): FieldError[] {
  if (!spec) return [required("spec")];
  const containers: unknown = spec.template.ephemeralContainers;
  return [...validateSelector(spec.selector, "spec.selector"), ...validateContainers(containers)];
}

function validateContainers(value: unknown): FieldError[] {
  const path = "ephemeralContainers";
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return [invalid(path, value, "must be a list")];
  const names = new Set<string>();
  return value.flatMap((container: unknown, index) => {
    const at = `${path}[${index}]`;
    if (!isJsonObject(container)) return [invalid(at, container, "must be an object")];
    const errors = validateContainer(container, at);
    const name = textMember(container, "name");
    if (name !== "" && names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
    return errors;
  });
}

/** What an ephemeral container may have; everything else belongs to containers that the scheduler has seen. */
const allowedFields: ReadonlySet<string> = new Set([
  "name",
  "image",
  "command",
  "args",
  "workingDir",
  "envFrom",
  "env",
  "volumeMounts",
  "volumeDevices",
  "terminationMessagePath",
  "terminationMessagePolicy",
  "imagePullPolicy",
  "securityContext",
  "stdin",
  "stdinOnce",
  "tty",
  "targetContainerName",
]);
const notHere = "cannot be set for an Ephemeral Container";

function validateContainer(container: JsonObject, path: string): FieldError[] {
  const { targetContainerName: _, ...common } = container;
  const mistyped = validateTypes(common, "Container", path);
  if (mistyped.length > 0) return mistyped;
  const name = textMember(container, "name");
  const errors =
    name === ""
      ? [required(`${path}.name`)]
      : dnsLabelErrors(name).map((message) => invalid(`${path}.name`, name, message));
  if (textMember(container, "image") === "") errors.push(required(`${path}.image`));
  // Nothing fills these in: the API server's defaults reach only pods.
  errors.push(
    ...choice(container, path, "terminationMessagePolicy", ["FallbackToLogsOnError", "File"]),
    ...choice(container, path, "imagePullPolicy", ["Always", "IfNotPresent", "Never"]),
  );
  for (const [key, value] of Object.entries(container)) {
    if (!allowedFields.has(key) && !isEmpty(value)) errors.push(forbidden(`${path}.${key}`, notHere));
  }
  const mounts = own(container, "volumeMounts");
  for (const [index, mount] of (Array.isArray(mounts) ? mounts : []).entries()) {
    for (const key of ["subPath", "subPathExpr"]) {
      if (isJsonObject(mount) && textMember(mount, key) !== "")
        errors.push(forbidden(`${path}.volumeMounts[${index}].${key}`, notHere));
    }
  }
  return errors;
}

function choice(container: JsonObject, path: string, key: string, values: readonly string[]): FieldError[] {
  const value = textMember(container, key);
  if (values.includes(value)) return [];
  return [value === "" ? required(`${path}.${key}`) : notSupported(`${path}.${key}`, value, values)];
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
