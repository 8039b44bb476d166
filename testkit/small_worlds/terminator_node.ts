/** A job's pod, its node, the agent there and the server: each step makes another pod. Spec: sidecarset, sidecar terminator. */
import { mutateContainerRecreateRequest } from "../../controller/kinds/container_recreate_request/admit.ts";
import { objectAt, objectsAt, textAt } from "../../controller/native/json_fields.ts";
import { controllerOptions } from "../../controller/runtime/options.ts";
import { RECREATE_POD_UID_LABEL } from "../../crds/index.ts";
import { applyJsonPatch, applyMergePatch, type JsonObject, own } from "../../kube/core/index.ts";
import { admissionRequest } from "../controller/admission_builder.ts";
import { fakeServer } from "../kube/fake_server.ts";
import { POD } from "./terminator_pass.ts";

const END = "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT";
const IMAGE = "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT_WITH_IMAGE";
const IGNORE = "KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE";
const EXITS = "exits:1";

export type Role = "main" | "sidecar" | "ignored" | "by image";

export interface Container {
  readonly name: string;
  readonly role: Role;
  /** Codes with which its runs end by themselves; one more goes on until it is stopped. */
  readonly codes: readonly number[];
  /** Code with which it ends when it is stopped. */
  readonly stoppedCode: number;
}

const variables: Readonly<Record<Role, readonly (readonly [string, string])[]>> = {
  main: [],
  sidecar: [[END, "true"]],
  ignored: [
    [END, "true"],
    [IGNORE, "true"],
  ],
  "by image": [[IMAGE, EXITS]],
};

export function podOf(uid: string, restartPolicy: string, containers: readonly Container[]): JsonObject {
  return {
    metadata: { ...POD, uid },
    spec: {
      nodeName: "n1",
      restartPolicy,
      containers: containers.map(({ name, role }) => ({
        name,
        image: "i:1",
        env: variables[role].map(([variable, value]) => ({ name: variable, value })),
      })),
    },
    status: { phase: "Pending" },
  };
}

export function nodeOf(isVirtual: boolean): JsonObject {
  return { metadata: { name: "n1", uid: "n1", labels: isVirtual ? { type: "virtual-kubelet" } : {} } };
}

export function uidOf(object: JsonObject | undefined): string {
  return textAt(objectAt(object ?? {}, "metadata"), "uid");
}

export function phaseOf(pod: JsonObject): string {
  return textAt(objectAt(pod, "status"), "phase");
}

export function isGoing(pod: JsonObject): boolean {
  return own(objectAt(pod, "metadata"), "deletionTimestamp") !== undefined;
}

export function isTold(pod: JsonObject): boolean {
  return objectsAt(objectAt(pod, "status"), "conditions").some(
    (condition) => textAt(condition, "type") === "SidecarTerminated",
  );
}

/** The kubelet has told that it knows how the pod has ended. */
export function isTaken(pod: JsonObject): boolean {
  return objectsAt(objectAt(pod, "status"), "conditions").some(
    (condition) => textAt(condition, "type") === "ContainersReady",
  );
}

export function isLast(phase: string): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

/** How a container fares: an exit code, running, or no status at all. */
export function fares(pod: JsonObject, name: string): number | "running" | undefined {
  const status = statusOf(pod, name);
  if (status === undefined) return undefined;
  const terminated = own(objectAt(status, "state"), "terminated");
  return terminated === undefined ? "running" : Number(own(Object(terminated), "exitCode"));
}

function statusOf(pod: JsonObject, name: string): JsonObject | undefined {
  return objectsAt(objectAt(pod, "status"), "containerStatuses").find((one) => textAt(one, "name") === name);
}

/** It is not started again. */
export function isDone(pod: JsonObject, name: string): boolean {
  const code = fares(pod, name);
  const policy = textAt(objectAt(pod, "spec"), "restartPolicy");
  return typeof code === "number" && (policy === "Never" || (policy === "OnFailure" && code === 0));
}

/** What may happen to the pod on its node. */
export function* nodeSteps(
  pod: JsonObject,
  containers: readonly Container[],
  { isVirtual, isDeaf }: { readonly isVirtual: boolean; readonly isDeaf: boolean },
): Generator<readonly [name: string, pod: JsonObject | undefined]> {
  if (isGoing(pod)) return yield ["the pod goes", undefined];
  if (phaseOf(pod) === "Pending") {
    const all = containers.map(({ name }) => runOf(name, 0));
    return yield ["the pod starts", withStatus(pod, { phase: "Running", containerStatuses: all })];
  }
  if (!isDeaf && isTold(pod) && isLast(phaseOf(pod)) && !isTaken(pod) && isLookedAt(pod))
    yield ["the kubelet takes up the result", takenUp(pod)];
  for (const { name, codes, stoppedCode } of containers) {
    const code = fares(pod, name);
    const restarts = Number(own(statusOf(pod, name) ?? {}, "restartCount") ?? 0);
    if (code === "running") {
      const ownCode = codes[restarts];
      if (ownCode !== undefined) yield [`${name} ends`, exited(pod, name, ownCode, isDeaf)];
      if (isTaken(pod) || (isVirtual && imageOf(pod, name) === EXITS))
        yield [`${name} is stopped`, exited(pod, name, stoppedCode, isDeaf)];
    } else if (!isDone(pod, name) && !isTaken(pod) && !isLast(phaseOf(pod)))
      yield [`${name} is started again`, reported(pod, runOf(name, restarts + 1), isDeaf)];
  }
}

function runOf(name: string, restartCount: number): JsonObject {
  return { name, restartCount, containerID: `containerd://${name}-${restartCount}`, state: { running: {} } };
}

function imageOf(pod: JsonObject, name: string): string {
  const found = objectsAt(objectAt(pod, "spec"), "containers").find((one) => textAt(one, "name") === name);
  return textAt(found ?? {}, "image");
}

export function exited(pod: JsonObject, name: string, exitCode: number, isDeaf: boolean): JsonObject {
  const status = { ...statusOf(pod, name), state: { terminated: { exitCode } } };
  return reported(pod, status, isDeaf);
}

/** The kubelet tells the phase as it sees it: one that it has not taken up is set back. */
function reported(pod: JsonObject, status: JsonObject, isDeaf: boolean): JsonObject {
  const name = textAt(status, "name");
  const before = objectsAt(objectAt(pod, "status"), "containerStatuses");
  const containerStatuses = before.map((one) => (textAt(one, "name") === name ? status : one));
  const after = withStatus(pod, { containerStatuses });
  if (isTaken(pod) || (isDeaf && isTold(pod))) return after;
  const names = before.map((one) => textAt(one, "name"));
  if (!names.every((one) => isDone(after, one))) return withStatus(after, { phase: "Running" });
  return withStatus(after, { phase: resultOf(after, names) });
}

export function resultOf(pod: JsonObject, names: readonly string[]): "Succeeded" | "Failed" {
  return names.every((name) => fares(pod, name) === 0) ? "Succeeded" : "Failed";
}

/** A kubelet looks at a pod again where more than its status differs. */
function isLookedAt(pod: JsonObject): boolean {
  return own(objectAt(objectAt(pod, "metadata"), "annotations"), "refit.dev/result-told-at") !== undefined;
}

function takenUp(pod: JsonObject): JsonObject {
  const ready = { type: "ContainersReady", status: "False", reason: "PodCompleted" };
  return withStatus(pod, { conditions: [...objectsAt(objectAt(pod, "status"), "conditions"), ready] });
}

function withStatus(pod: JsonObject, status: JsonObject): JsonObject {
  return { ...pod, status: { ...objectAt(pod, "status"), ...status } };
}

export function goingOf(pod: JsonObject): JsonObject {
  return Object(applyMergePatch(pod, { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }));
}

/** The request as admission lets it in; undefined: it is refused. */
export async function admitted(
  body: object,
  name: string,
  { pod, node }: { readonly pod: JsonObject | undefined; readonly node: JsonObject },
): Promise<JsonObject | undefined> {
  const server = fakeServer();
  if (pod !== undefined) server.put("pods", { ...pod, metadata: { ...objectAt(pod, "metadata") } });
  server.put("nodes", { ...node, metadata: { ...objectAt(node, "metadata") } });
  const apiVersion = "apps.kruise.io/v1beta1";
  const object = { apiVersion, kind: "ContainerRecreateRequest", ...body };
  const whole = Object(applyMergePatch(object, { metadata: { namespace: POD.namespace, name } }));
  const admit = mutateContainerRecreateRequest({ client: server.client, options: controllerOptions() });
  const answer = await admit(admissionRequest({ object: whole, namespace: POD.namespace }));
  return answer.allowed ? applyJsonPatch(whole, answer.patch ?? []) : undefined;
}

/** UID of the pod that a request is for. */
export function ownerOf(request: JsonObject): string {
  const [owner = {}] = objectsAt(objectAt(request, "metadata"), "ownerReferences");
  return textAt(owner, "uid");
}

export function containersIn(request: JsonObject): string[] {
  return objectsAt(objectAt(request, "spec"), "containers").map((one) => textAt(one, "name"));
}

export function isOpen(request: JsonObject): boolean {
  return own(objectAt(request, "status"), "phase") === undefined;
}

/** Of containers of this very pod that still run: the agent stops nothing else. */
export function toStop(request: JsonObject, pod: JsonObject | undefined): string[] {
  const uid = textAt(objectAt(objectAt(request, "metadata"), "labels"), RECREATE_POD_UID_LABEL);
  if (pod === undefined || uid !== uidOf(pod)) return [];
  return objectsAt(objectAt(request, "spec"), "containers").flatMap((one) => {
    const name = textAt(one, "name");
    const asked = textAt(objectAt(one, "statusContext"), "containerID");
    const isAsked = asked === textAt(statusOf(pod, name) ?? {}, "containerID");
    return isAsked && fares(pod, name) === "running" ? [name] : [];
  });
}
