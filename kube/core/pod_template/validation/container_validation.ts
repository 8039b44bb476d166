/** Containers of a pod: what holds for all, and what init containers may not. */
import { duplicate } from "../../field_errors.ts";
import { dnsLabelErrors, portNameErrors, portNumberErrors } from "../../names.ts";
import type { Cursor } from "./cursor.ts";
import { validateEnv } from "./env_validation.ts";
import { type HandlerContext, validateLifecycle, validateProbes } from "./handler_validation.ts";
import { type Volumes, validateMounts } from "./mount_validation.ts";
import { validateContainerResources } from "./resource_validation.ts";
import { validateContainerSecurity } from "./security_validation.ts";

export interface PodContext extends HandlerContext {
  readonly volumes: Volumes;
  readonly claims: ReadonlySet<string>;
  readonly restartPolicy: string;
  /** False when the pod has a user namespace of its own. */
  readonly hostUsers: boolean;
}

export function validateContainers(spec: Cursor, context: PodContext): void {
  const containers = spec.objects("containers");
  if (containers.length === 0) spec.required("containers");
  const names = new Set<string>();
  for (const container of containers) {
    const name = container.text("name");
    validateAnyContainer(container, context);
    if (names.has(name)) container.duplicate("name", name);
    names.add(name);
    validateLifecycle(container, context);
    validateProbes(container, context);
    if (container.has("restartPolicy"))
      container.forbidden("restartPolicy", "may not be set for non-init containers");
  }
  validateHostPorts(containers);
}

export function validateInitContainers(spec: Cursor, context: PodContext): void {
  const names = new Set(spec.objects("containers").map((container) => container.text("name")));
  for (const container of spec.objects("initContainers")) {
    const name = container.text("name");
    validateAnyContainer(container, context);
    const sidecar = container.text("restartPolicy") === "Always";
    if (container.has("restartPolicy"))
      container.oneOfAt("restartPolicy", container.text("restartPolicy"), ["Always"]);
    if (names.has(name)) container.duplicate("name", name);
    else if (name !== "") names.add(name);
    validateHostPorts([container]);
    if (sidecar) {
      validateLifecycle(container, context);
      validateProbes(container, context);
      continue;
    }
    for (const key of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"]) {
      if (!container.has(key)) continue;
      container.forbidden(key, "may not be set for init containers without restartPolicy=Always");
    }
  }
}

function validateAnyContainer(container: Cursor, context: PodContext): void {
  if (container.needsText("name")) container.follows("name", dnsLabelErrors);
  container.needsText("image");
  container.choice("terminationMessagePolicy", ["File", "FallbackToLogsOnError"], true);
  validatePorts(container);
  validateEnv(container);
  validateMounts(container, context.volumes);
  container.choice("imagePullPolicy", ["Always", "IfNotPresent", "Never"], true);
  validateContainerResources(container, context.claims);
  validateResizePolicy(container, context.restartPolicy);
  validateContainerSecurity(container, context.hostUsers);
}

function validatePorts(container: Cursor): void {
  const names = new Set<string>();
  for (const port of container.objects("ports")) {
    const name = port.text("name");
    if (name !== "") {
      const complaints = portNameErrors(name);
      if (complaints.length > 0) port.complain("name", name, complaints);
      else if (names.has(name)) port.duplicate("name", name);
      else names.add(name);
    }
    const number = port.number("containerPort") ?? 0;
    if (number === 0) port.required("containerPort");
    else port.complain("containerPort", number, portNumberErrors(number));
    const hostPort = port.number("hostPort") ?? 0;
    if (hostPort !== 0) port.complain("hostPort", hostPort, portNumberErrors(hostPort));
    port.choice("protocol", ["SCTP", "TCP", "UDP"], true);
  }
}

/** A port of the host goes to one container only. */
function validateHostPorts(containers: readonly Cursor[]): void {
  const taken = new Set<string>();
  containers.forEach((container, index) => {
    for (const port of container.objects("ports")) {
      const hostPort = port.number("hostPort") ?? 0;
      if (hostPort === 0) continue;
      const key = `${port.text("protocol")}/${port.text("hostIP")}/${hostPort}`;
      // An init container is checked alone, and then the server counts it as the first.
      const path = containers.length === 1 && index === 0 ? firstPath(port.path) : port.path;
      if (taken.has(key)) port.add(duplicate(`${path}.hostPort`, key));
      taken.add(key);
    }
  });
}

function firstPath(path: string): string {
  return path.replace(/(initContainers)\[\d+\]/, "$1[0]");
}

function validateResizePolicy(container: Cursor, podRestartPolicy: string): void {
  const seen = new Set<string>();
  for (const policy of container.objects("resizePolicy")) {
    const resource = policy.text("resourceName");
    const restart = policy.text("restartPolicy");
    if (seen.has(resource)) policy.duplicate("", resource);
    seen.add(resource);
    container.oneOfAt("resizePolicy", resource, ["cpu", "memory"]);
    container.oneOfAt("resizePolicy", restart, ["NotRequired", "RestartContainer"]);
    if (podRestartPolicy === "Never" && restart !== "NotRequired") {
      container.invalid("resizePolicy", restart, "must be 'NotRequired' when `restartPolicy` is 'Never'");
    }
  }
}
