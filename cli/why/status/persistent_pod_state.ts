/** PersistentPodState: which pods are recorded, and which cannot go back to where they were. Spec: persistentpodstate 4. */
import { counted } from "../../../kube/core/index.ts";
import { type AnyObject, at, fieldsAt, isControlledBy, listAt, textAt, textsAt } from "../../fields.ts";
import { inNamespace } from "../../resource_types.ts";
import type { Cause } from "../causes/cause.ts";
import type { Facts } from "../causes/facts.ts";
import { conditionsOf, timeAt } from "../causes/pod_facts.ts";
import { shownName, shownText } from "../causes/shown_text.ts";
import { showCommand } from "../patch_command.ts";
import { type Findings, groupedCauses, named, statusSource } from "./status_source.ts";

interface Related {
  /** Undefined where it cannot be read. */
  readonly target: AnyObject | "missing" | undefined;
  /** Those that the target controls. */
  readonly pods: readonly AnyObject[];
}

export const persistentPodStateStatus = statusSource<Related>({
  group: "apps.kruise.io",
  kind: "PersistentPodState",
  isLasting: true,
  async read(reader, object) {
    const { namespace = "" } = object.metadata;
    const [group = ""] = (textAt(object, "spec", "targetRef", "apiVersion") ?? "").split("/");
    const kind = textAt(object, "spec", "targetRef", "kind") ?? "";
    const name = textAt(object, "spec", "targetRef", "name") ?? "";
    const target = await reader.get(group, kind, { namespace, name });
    if (target === undefined || target === "missing") return { target, pods: [] };
    const owners = new Set([target.metadata.uid ?? ""]);
    return {
      target,
      pods: await reader.collect("", "Pod", { namespace }, (pod) => isControlledBy(pod, owners)),
    };
  },
  explain: explainPersistentPodState,
});

export function explainPersistentPodState(
  object: AnyObject,
  { target, pods }: Related,
  facts: Facts,
): Findings {
  const records = fieldsAt(object, "status", "podStates");
  const isRecorded = (pod: AnyObject): boolean => Object.hasOwn(records, nameOf(pod));
  const unplaced = pods.filter((pod) => isRecorded(pod) && (textAt(pod, "spec", "nodeName") ?? "") === "");
  const unrecorded = pods.filter((pod) => !isRecorded(pod));
  return {
    summary: `${counted(Object.keys(records).length, "pod")} recorded of ${pods.length} that ${targetName(object)} has`,
    causes: [
      ...(target === "missing" ? [noTarget(object, facts)] : []),
      ...unplaced.map((pod) => cannotReturn(object, pod, facts)),
      ...groupedCauses(
        unrecorded,
        () => "",
        (_, all) => notRecorded(all, facts),
      ),
    ],
  };
}

function nameOf(pod: AnyObject): string {
  return textAt(pod, "metadata", "name") ?? "";
}

/** `StatefulSet web`. */
function targetName(object: AnyObject): string {
  const kind = textAt(object, "spec", "targetRef", "kind") ?? "";
  return shownText(`${kind} ${textAt(object, "spec", "targetRef", "name") ?? ""}`);
}

/** Lists what the reference could mean, where it names a kind that can be written into a command. */
function candidatesCommand(object: AnyObject, { subject }: Facts): string {
  const kind = textAt(object, "spec", "targetRef", "kind") ?? "";
  const [group = ""] = (textAt(object, "spec", "targetRef", "apiVersion") ?? "").split("/");
  if (!/^[A-Za-z]{1,63}$/.test(kind) || !/^[a-z0-9.-]{1,253}$/.test(group)) return showCommand(subject);
  return `kubectl get ${kind.toLowerCase()}.${group}${inNamespace(subject.namespace)}`;
}

function noTarget(object: AnyObject, facts: Facts): Cause {
  const apiVersion = textAt(object, "spec", "targetRef", "apiVersion") ?? "";
  return {
    reason: "NoTarget",
    message: `spec.targetRef: ${targetName(object)} of ${shownText(apiVersion)} does not exist`,
    until: "it is created, or targetRef is corrected",
    since: facts.subject.createdAt,
    next: candidatesCommand(object, facts),
    outlook: "stuck",
  };
}

/** Only a required topology keeps a pod from other nodes. */
function cannotReturn(object: AnyObject, pod: AnyObject, { subject }: Facts): Cause {
  const name = nameOf(pod);
  const record = at(object, "status", "podStates", name);
  const required = at(object, "spec", "requiredPersistentTopology");
  const keys = [...listAt(required, "keys"), ...listAt(required, "nodeTopologyKeys")];
  const labels = textsAt(record, "nodeTopologyLabels");
  const wanted = keys.flatMap((key) => (typeof key === "string" ? [`${key}=${labels[key] ?? ""}`] : []));
  const scheduled = conditionsOf(pod["status"]).get("PodScheduled");
  const said = shownText(scheduled?.message ?? "");
  const place = wanted.length === 0 ? "" : `, it needs a node with ${shownText(wanted.join(", "))}`;
  return {
    reason: "NoNode",
    message: `pod ${shownName(name)} ran on node ${shownName(textAt(record, "nodeName") ?? "")} and has no node now${place}${said === "" ? "" : `: ${said}`}`,
    until: "such a node takes it, or its record is removed from the status",
    since: scheduled?.since ?? timeAt(pod, "metadata", "creationTimestamp"),
    next: `kubectl describe pod ${shownName(name)}${inNamespace(subject.namespace)}`,
    outlook: scheduled?.status === "False" ? "stuck" : "moving",
  };
}

function notRecorded(pods: readonly AnyObject[], { subject }: Facts): Cause {
  const names = pods.map(nameOf);
  return {
    reason: "NotRecorded",
    message: `${counted(pods.length, "pod")}: not recorded yet${named(names)}`,
    until: "the pod is ready on its node",
    next: `refit why pod/${shownName(names[0] ?? "")}${inNamespace(subject.namespace)}`,
    outlook: "moving",
  };
}
