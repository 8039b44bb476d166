/** Pods: defaults of the type and of the admission plugins, immutability, status. */
import {
  cloneJson,
  defaultPod,
  type FieldError,
  forbidden,
  goJson,
  invalid,
  jsonEqual,
  podQos,
  validatePodSpec,
} from "../../../kube/core/index.ts";
import type { StoredObject } from "../../cluster.ts";
import {
  type Fields,
  fieldsAt,
  isFields,
  listAt,
  numberAt,
  objectsAt,
  setAt,
  textAt,
  valueAt,
} from "../../json.ts";
import type { Strategy, WriteContext } from "../resource.ts";

const toleratedSeconds = 300;
const notReadyTaints = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] as const;

/** Members that admission plugins fill in, not the type's own defaults. */
const admitted = [
  "serviceAccountName",
  "serviceAccount",
  "priority",
  "preemptionPolicy",
  "tolerations",
] as const;

function defaultPodObject(draft: StoredObject): void {
  const before = fieldsAt(draft, "spec");
  const filled = defaultPod(draft);
  const spec = filled["spec"];
  if (!isFields(spec)) return;
  for (const name of admitted) setAt(spec, [name], before[name]);
  draft["spec"] = spec;
}

/** What the admission plugins ServiceAccount, Priority and DefaultTolerationSeconds add. */
function admitPod(draft: StoredObject, context: WriteContext): void {
  const spec = fieldsAt(draft, "spec");
  setMissing(spec, "serviceAccountName", spec["serviceAccount"] ?? "default");
  spec["serviceAccount"] = spec["serviceAccountName"];
  defaultPriority(spec, context);
  const tolerations = [...listAt(spec, "tolerations")];
  for (const key of notReadyTaints) {
    if (!tolerations.some((toleration) => tolerates(toleration, key))) {
      tolerations.push({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: toleratedSeconds });
    }
  }
  spec["tolerations"] = tolerations;
}

function tolerates(toleration: unknown, key: string): boolean {
  const effect = textAt(toleration, "effect");
  const tolerated = textAt(toleration, "key");
  return (tolerated === key || tolerated === "") && (effect === "NoExecute" || effect === "");
}

function defaultPriority(spec: Fields, context: WriteContext): void {
  const className = textAt(spec, "priorityClassName");
  if (className === "system-node-critical") setMissing(spec, "priority", 2000001000);
  if (className === "system-cluster-critical") setMissing(spec, "priority", 2000000000);
  const found =
    className === "" ? undefined : context.lookup("priorityclasses.scheduling.k8s.io", "", className);
  if (found !== undefined) {
    setMissing(spec, "priority", numberAt(found, "value") ?? 0);
    setMissing(spec, "preemptionPolicy", textAt(found, "preemptionPolicy") || "PreemptLowerPriority");
  }
  setMissing(spec, "priority", 0);
  setMissing(spec, "preemptionPolicy", "PreemptLowerPriority");
}

function setMissing(target: Fields, name: string, value: unknown): void {
  if (target[name] === undefined) target[name] = value;
}

function preparePod(draft: StoredObject): void {
  const status: Fields = { phase: "Pending", qosClass: podQos(fieldsAt(draft, "spec")) };
  draft["status"] = status;
  if (listAt(draft, "spec", "schedulingGates").length === 0) return;
  const gated = {
    type: "PodScheduled",
    status: "False",
    lastProbeTime: null,
    lastTransitionTime: null,
    reason: "SchedulingGated",
    message: "Scheduling is blocked due to non-empty scheduling gates",
  };
  status["conditions"] = [gated];
}

const frozen =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

function validatePodUpdate(
  object: StoredObject,
  stored: StoredObject,
  _context: WriteContext,
  subresource: string,
): FieldError[] {
  if (subresource === "resize" || subresource === "ephemeralcontainers" || subresource === "binding")
    return [];
  const errors: FieldError[] = [];
  const spec = fieldsAt(object, "spec");
  const before = fieldsAt(stored, "spec");
  if (jsonEqual(spec, before)) return errors;
  for (const list of ["containers", "initContainers"]) {
    if (listAt(spec, list).length !== listAt(before, list).length) {
      return [forbidden(`spec.${list}`, "pod updates may not add or remove containers")];
    }
  }
  errors.push(...deadlineErrors(spec, before), ...tolerationErrors(spec, before));
  const masked = maskMutable(spec, before);
  if (!jsonEqual(masked, before)) {
    errors.push(forbidden("spec", `${frozen}\n${specDifference(masked, before)}`));
  }
  return errors;
}

/** The new spec with everything that may change set back, so that what is left is forbidden. */
function maskMutable(spec: Fields, before: Fields): Fields {
  const masked = cloneJson(spec);
  for (const list of ["containers", "initContainers"]) {
    objectsAt(masked, list).forEach((container, at) => {
      const old = listAt(before, list)[at];
      container["image"] = valueAt(old, "image");
    });
  }
  for (const name of ["activeDeadlineSeconds", "tolerations"]) setAt(masked, [name], before[name]);
  const grace = numberAt(before, "terminationGracePeriodSeconds");
  if (grace !== undefined && grace < 0 && masked["terminationGracePeriodSeconds"] === 1) {
    masked["terminationGracePeriodSeconds"] = grace;
  }
  if (
    listAt(before, "schedulingGates").length > 0 &&
    isSubset(listAt(masked, "schedulingGates"), listAt(before, "schedulingGates"))
  ) {
    masked["schedulingGates"] = before["schedulingGates"];
    // Gated pods may also be narrowed to fewer nodes.
    for (const name of ["nodeSelector", "affinity"]) setAt(masked, [name], before[name]);
  }
  return masked;
}

function isSubset(part: readonly unknown[], whole: readonly unknown[]): boolean {
  return part.every((item) => whole.some((other) => jsonEqual(item, other)));
}

function specDifference(after: Fields, before: Fields): string {
  const lines: string[] = [];
  for (const name of [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()) {
    if (jsonEqual(before[name], after[name])) continue;
    if (before[name] !== undefined) lines.push(`- \t${name}: ${goJson(before[name])}`);
    if (after[name] !== undefined) lines.push(`+ \t${name}: ${goJson(after[name])}`);
  }
  return lines.join("\n");
}

function deadlineErrors(spec: Fields, before: Fields): FieldError[] {
  const wanted = numberAt(spec, "activeDeadlineSeconds");
  const old = numberAt(before, "activeDeadlineSeconds");
  const path = "spec.activeDeadlineSeconds";
  if (wanted !== undefined && wanted < 0) {
    return [invalid(path, wanted, "must be greater than or equal to 0")];
  }
  if (old === undefined || wanted === old) return [];
  if (wanted === undefined) {
    return [invalid(path, null, "must not update from a positive integer to nil value")];
  }
  return wanted < old ? [] : [invalid(path, wanted, "must be less than or equal to previous value")];
}

function tolerationErrors(spec: Fields, before: Fields): FieldError[] {
  if (isSubset(listAt(before, "tolerations"), listAt(spec, "tolerations"))) return [];
  return [
    forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"),
  ];
}

function preparePodUpdate(
  draft: StoredObject,
  stored: StoredObject,
  _context: WriteContext,
  subresource: string,
): void {
  if (subresource === "resize") keepAllButResources(draft, stored);
  if (subresource === "ephemeralcontainers") {
    const wanted = valueAt(draft, "spec", "ephemeralContainers");
    draft["spec"] = { ...fieldsAt(cloneJson(stored), "spec"), ephemeralContainers: wanted };
  }
}

/** Only resources and their policies come from the draft. */
function keepAllButResources(draft: StoredObject, stored: StoredObject): void {
  const spec = cloneJson(fieldsAt(stored, "spec"));
  for (const list of ["containers", "initContainers"]) {
    for (const container of objectsAt(spec, list)) {
      const wanted = objectsAt(draft, "spec", list).find((other) => other["name"] === container["name"]);
      if (wanted === undefined) continue;
      for (const member of ["resources", "resizePolicy"])
        setAt(container, [member], cloneJson(wanted[member]));
    }
  }
  draft["spec"] = spec;
}

export const podRules: Readonly<Record<string, Partial<Strategy>>> = {
  pods: {
    statusMetadata: "labels",
    defaults: defaultPodObject,
    admit: admitPod,
    prepareCreate: preparePod,
    prepareUpdate: preparePodUpdate,
    validateCreate: validatePodSpec,
    validateUpdate: validatePodUpdate,
    prepareStatus(draft, stored) {
      const qosClass = textAt(stored, "status", "qosClass");
      if (qosClass !== "") setAt(draft, ["status", "qosClass"], qosClass);
    },
  },
};
