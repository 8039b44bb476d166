/** Admission of ContainerRecreateRequests, both versions: one webhook fills in and refuses. Spec: containers 1.6. */
import {
  containerRecreateRequest,
  type Decoded,
  NODE_TYPE_LABEL,
  RECREATE_ACTIVE_LABEL,
  RECREATE_NODE_LABEL,
  RECREATE_POD_UID_LABEL,
  sameAsTyped,
  unreadyAcquiredAnnotation,
  VIRTUAL_NODE_TYPE,
} from "../../../crds/index.ts";
import {
  cloneJson,
  diffPositional,
  isJsonObject,
  type JsonObject,
  own,
  put,
} from "../../../kube/core/index.ts";
import { ignoreNotFound, messageOf, nodeResource, type ReadingClient } from "../../../kube/index.ts";
import { objectAt, objectsAt, textAt } from "../../native/json_fields.ts";
import { wholePodResource } from "../../native/whole_pod.ts";
import {
  type AdmissionHandler,
  type AdmissionRequest,
  type AdmissionResponse,
  allowed,
  denied,
  patched,
} from "../../runtime/admission/request.ts";
import { typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook, type WebhookDeps } from "../../runtime/admission/webhook.ts";

/** The handler of `/mutate-apps-kruise-io-containerrecreaterequest`. */
export function mutateContainerRecreateRequest({
  client,
  options,
}: Pick<WebhookDeps, "client" | "options">): AdmissionHandler {
  return typedHandler(containerRecreateRequest.read, ({ object }, _old, request) => {
    if (request.operation === "UPDATE") return admitUpdate(request.object, request.oldObject ?? {});
    // Without agents nobody would carry a request out.
    if (!options.gates.KruiseDaemon) return denied(403, "feature-gate KruiseDaemon is not enabled");
    return admitCreation(request, request.object, object.spec, client);
  });
}

type Spec = NonNullable<Decoded<typeof containerRecreateRequest>["object"]["spec"]>;

const immutableLabels = [RECREATE_POD_UID_LABEL, RECREATE_NODE_LABEL] as const;

function admitUpdate(next: JsonObject, old: JsonObject): AdmissionResponse {
  if (!sameAsTyped(next["spec"], old["spec"], "ContainerRecreateRequestSpec")) {
    return denied(403, "spec of ContainerRecreateRequest is immutable");
  }
  for (const label of immutableLabels) {
    if (metadataEntry(next, "labels", label) !== metadataEntry(old, "labels", label)) {
      return denied(403, `not allowed to update immutable label ${label}`);
    }
  }
  const acquired = metadataEntry(old, "annotations", unreadyAcquiredAnnotation);
  if (acquired !== undefined && metadataEntry(next, "annotations", unreadyAcquiredAnnotation) !== acquired) {
    return denied(403, `not allowed to update immutable annotation ${unreadyAcquiredAnnotation}`);
  }
  return allowed;
}

async function admitCreation(
  request: AdmissionRequest,
  object: JsonObject,
  spec: Spec | undefined,
  client: ReadingClient,
): Promise<AdmissionResponse> {
  const refusal = refusalOfSpec(spec);
  if (spec === undefined || refusal !== undefined) return denied(400, refusal ?? "podName can not be empty");
  const place = { namespace: request.namespace, name: spec.podName };
  const pod = await client.get(wholePodResource, place).catch(ignoreNotFound);
  if (pod === undefined) return denied(400, `no found Pod named ${spec.podName}`);
  const owner = formerPod(object, place.name, pod);
  if (owner !== undefined) return denied(400, `no found Pod named ${spec.podName} of UID ${owner}`);
  if (!isActive(pod)) return denied(400, "not allowed to recreate containers in an inactive Pod");
  const nodeName = own(objectAt(pod, "spec"), "nodeName");
  if (typeof nodeName !== "string" || nodeName === "") {
    return denied(400, "not allowed to recreate containers in a pending Pod");
  }
  let nodeLabels: Readonly<Record<string, string>>;
  try {
    nodeLabels = (await client.get(nodeResource, { name: nodeName })).labels;
  } catch (error) {
    return denied(400, `failed to get Node ${nodeName}: ${messageOf(error)}`);
  }
  const containers = filledContainers(spec, pod);
  if (typeof containers === "string") return denied(400, containers);
  const filled = filledRequest(object, { pod, nodeName, nodeLabels, containers });
  return patched(diffPositional(object, filled));
}

/** What can be refused without looking at anything else; null stands for absent. */
function refusalOfSpec(spec: Spec | undefined): string | undefined {
  if (!spec?.podName) return "podName can not be empty";
  if (!Array.isArray(spec.containers) || spec.containers.length === 0)
    return "containers list can not be null";
  const { activeDeadlineSeconds } = spec;
  if (typeof activeDeadlineSeconds === "number" && activeDeadlineSeconds < 3) {
    return "activeDeadlineSeconds can not be less than 3s";
  }
  const { failurePolicy, ...strategy } = spec.strategy ?? {};
  for (const field of ["terminationGracePeriodSeconds", "unreadyGracePeriodSeconds"] as const) {
    const seconds = strategy[field];
    if (typeof seconds === "number" && seconds < 0) return `${field} must be non-negative integer`;
  }
  if (failurePolicy && failurePolicy !== "Fail" && failurePolicy !== "Ignore") {
    return `unknown failurePolicy ${failurePolicy}`;
  }
  return undefined;
}

/** UID of the pod that owns the request, where another one has taken its name: that one's containers are not meant. */
function formerPod(request: JsonObject, podName: string, pod: JsonObject): string | undefined {
  const owners = objectsAt(objectAt(request, "metadata"), "ownerReferences");
  const owner = owners.find((one) => one["kind"] === "Pod" && one["name"] === podName);
  const uid = owner && textAt(owner, "uid");
  return uid === textAt(objectAt(pod, "metadata"), "uid") ? undefined : uid;
}

/** Neither finished nor being deleted; a job's pod whose sidecars are being ended counts although it is finished. */
function isActive(pod: JsonObject): boolean {
  const status = objectAt(pod, "status");
  if (objectsAt(status, "conditions").some((condition) => condition["type"] === "SidecarTerminated"))
    return true;
  const deleted = own(objectAt(pod, "metadata"), "deletionTimestamp") !== undefined;
  return !deleted && status["phase"] !== "Succeeded" && status["phase"] !== "Failed";
}

/** The containers with what the agent needs of the pod, or why not. */
function filledContainers(spec: Spec, pod: JsonObject): JsonObject[] | string {
  const ofSpec = objectsAt(objectAt(pod, "spec"), "containers");
  const statuses = objectsAt(objectAt(pod, "status"), "containerStatuses");
  const names = new Set<string>();
  const filled: JsonObject[] = [];
  for (const container of spec.containers) {
    const name = container.name ?? "";
    if (names.has(name)) return `can not recreate ${name} multi times`;
    names.add(name);
    if (container.preStop || container.ports || container.statusContext) {
      return "preStop, ports, statusContext in container are ready-only fields";
    }
    const inPod = ofSpec.find((one) => one["name"] === name);
    if (inPod === undefined) return `container ${name} not found in Pod`;
    const status = statuses.find((one) => one["name"] === name);
    if (status === undefined) return `not found ${name} containerStatus in Pod Status`;
    const { containerID, restartCount } = status;
    if (typeof containerID !== "string" || containerID === "") {
      return `no containerID in ${name} containerStatus, maybe the container has not been initialized`;
    }
    filled.push({ name, ...hookOf(inPod), statusContext: { containerID, restartCount: restartCount ?? 0 } });
  }
  return filled;
}

/** A hook that the API cannot hold (`sleep`) is an empty one here: the agent takes the pod's own then. */
function hookOf(container: JsonObject): JsonObject {
  const hook = own(objectAt(container, "lifecycle"), "preStop");
  if (!isJsonObject(hook)) return {};
  const preStop: JsonObject = {};
  for (const handler of ["exec", "httpGet", "tcpSocket"]) {
    const present = own(hook, handler);
    if (present !== undefined) preStop[handler] = cloneJson(present);
  }
  const ports = objectsAt(container, "ports");
  return {
    preStop,
    ...(isJsonObject(preStop["httpGet"]) && ports.length > 0 ? { ports: cloneJson(ports) } : {}),
  };
}

interface Found {
  readonly pod: JsonObject;
  readonly nodeName: string;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly containers: readonly JsonObject[];
}

function filledRequest(object: JsonObject, { pod, nodeName, nodeLabels, containers }: Found): JsonObject {
  const spec = objectAt(object, "spec");
  const strategy = { ...objectAt(spec, "strategy") };
  if (!strategy["failurePolicy"]) strategy["failurePolicy"] = "Fail";
  strategy["terminationGracePeriodSeconds"] ??= own(objectAt(pod, "spec"), "terminationGracePeriodSeconds");
  if (strategy["terminationGracePeriodSeconds"] === undefined)
    delete strategy["terminationGracePeriodSeconds"];
  const metadata = objectAt(object, "metadata");
  const labels = { ...objectAt(metadata, "labels") };
  put(labels, RECREATE_POD_UID_LABEL, own(objectAt(pod, "metadata"), "uid"));
  put(labels, RECREATE_NODE_LABEL, nodeName);
  put(labels, RECREATE_ACTIVE_LABEL, "true");
  if (nodeLabels[NODE_TYPE_LABEL] === VIRTUAL_NODE_TYPE) put(labels, NODE_TYPE_LABEL, VIRTUAL_NODE_TYPE);
  return { ...object, metadata: { ...metadata, labels }, spec: { ...spec, containers, strategy } };
}

function metadataEntry(object: JsonObject, map: "labels" | "annotations", key: string): unknown {
  return own(objectAt(objectAt(object, "metadata"), map), key);
}

export const containerRecreateRequestWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", containerRecreateRequest, { handler: mutateContainerRecreateRequest }),
];
