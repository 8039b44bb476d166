/** Defaults of one container, as the API server sets them. Everything here changes the given object. */
import { isJsonObject, type JsonObject, own } from "../json.ts";
import { formatQuantity, isQuantity, parseQuantity } from "../quantity.ts";
import { has, objectAt, objectsAt, textAt } from "./fields.ts";
import { pullPolicyByTag } from "./image_reference.ts";

export type PullPolicyRule = (image: string) => string;

export function defaultContainer(container: JsonObject, pullPolicy: PullPolicyRule = pullPolicyByTag): void {
  defaultExceptProbes(container, pullPolicy);
  for (const name of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    const probe = objectAt(container, name);
    defaultProbe(probe);
    const grpc = objectAt(probe, "grpc");
    if (grpc !== undefined) setMissing(grpc, "service", "");
  }
}

/**
 * As the reference sets them in SidecarSets: startup probes and gRPC services stay as they are. Their hash would change, and
 * the API server fills them in when a pod has them. Spec: sidecarset 6.
 */
export function defaultSidecarContainer(container: JsonObject): void {
  defaultExceptProbes(container, pullPolicyByTag);
  for (const name of ["livenessProbe", "readinessProbe"]) defaultProbe(objectAt(container, name));
}

function defaultExceptProbes(container: JsonObject, pullPolicy: PullPolicyRule): void {
  setDefault(container, "imagePullPolicy", pullPolicy(textAt(container, "image")));
  setDefault(container, "terminationMessagePath", "/dev/termination-log");
  setDefault(container, "terminationMessagePolicy", "File");
  for (const [port] of objectsAt(container, "ports")) setDefault(port, "protocol", "TCP");
  for (const [env] of objectsAt(container, "env")) {
    const source = objectAt(env, "valueFrom");
    defaultFieldRef(objectAt(source, "fieldRef"));
    const fileKey = objectAt(source, "fileKeyRef");
    if (fileKey !== undefined && !has(fileKey, "optional")) fileKey["optional"] = false;
  }
  roundResources(objectAt(container, "resources"));
  const lifecycle = objectAt(container, "lifecycle");
  for (const name of ["postStart", "preStop"]) defaultHttpGet(objectAt(objectAt(lifecycle, name), "httpGet"));
}

/** Sets a member that is absent, null, zero or the empty text. */
export function setDefault(object: JsonObject, key: string, value: unknown): void {
  const present = own(object, key);
  if (present === undefined || present === null || present === "" || present === 0) object[key] = value;
}

/** Sets a member that is absent or null; zero and the empty text are values. */
export function setMissing(object: JsonObject, key: string, value: unknown): void {
  if (!has(object, key)) object[key] = value;
}

export function defaultFieldRef(fieldRef: JsonObject | undefined): void {
  if (fieldRef !== undefined) setDefault(fieldRef, "apiVersion", "v1");
}

function defaultProbe(probe: JsonObject | undefined): void {
  if (probe === undefined) return;
  setDefault(probe, "timeoutSeconds", 1);
  setDefault(probe, "periodSeconds", 10);
  setDefault(probe, "successThreshold", 1);
  setDefault(probe, "failureThreshold", 3);
  defaultHttpGet(objectAt(probe, "httpGet"));
}

function defaultHttpGet(httpGet: JsonObject | undefined): void {
  if (httpGet === undefined) return;
  setDefault(httpGet, "path", "/");
  setDefault(httpGet, "scheme", "HTTP");
}

export function roundResources(resources: JsonObject | undefined): void {
  roundAmounts(objectAt(resources, "limits"));
  roundAmounts(objectAt(resources, "requests"));
}

/** Amounts have no parts finer than thousandths; they are rounded up. */
export function roundAmounts(amounts: JsonObject | undefined): void {
  for (const [name, value] of Object.entries(amounts ?? {})) {
    if (amounts === undefined || !isQuantity(value)) continue;
    const { nano, format } = parseQuantity(value);
    const rest = nano % 1_000_000n;
    if (rest !== 0n)
      amounts[name] = formatQuantity({ nano: nano - rest + (nano > 0n ? 1_000_000n : -1_000_000n), format });
  }
}

/** Requests that are absent become the limits. */
export function requestsFromLimits(container: JsonObject): void {
  const resources = objectAt(container, "resources");
  const limits = objectAt(resources, "limits");
  if (resources === undefined || limits === undefined) return;
  const requests = isJsonObject(resources["requests"]) ? resources["requests"] : {};
  resources["requests"] = requests;
  for (const [name, value] of Object.entries(limits)) setMissing(requests, name, value);
}

/** Ports of pods on the host's network are the host's. */
export function hostPorts(container: JsonObject): void {
  for (const [port] of objectsAt(container, "ports")) setDefault(port, "hostPort", port["containerPort"]);
}
