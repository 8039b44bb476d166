/** What admission refuses in a PodProbeMarker, in the API's words. Spec: containers 4.6. */

import {
  type FieldError,
  forbidden,
  headerNameErrors,
  invalid,
  notSupported,
  portNameErrors,
  portNumberErrors,
  qualifiedNameErrors,
  required,
  validateAnnotations,
  validateLabels,
  validateSelector,
} from "../../kube/core/index.ts";
import type { Draft } from "../kind_reader.ts";
import { ratcheted } from "../ratchet.ts";
import { termCount } from "../rules.ts";
import { sameAsTyped } from "../typed_equality.ts";
import type { PodProbeMarker, PodProbeMarkerSpec } from "./schema.ts";

type MarkerProbe = PodProbeMarkerSpec["probes"][number];
type Policies = NonNullable<MarkerProbe["markerPolicy"]>;
type Probe = MarkerProbe["probe"];

/** Conditions of the kubelet and of this API, which no probe may be called after. */
const takenNames = [
  "PodScheduled",
  "Initialized",
  "Ready",
  "ContainersReady",
  "KruisePodReady",
  "InPlaceUpdateReady",
];

/** All errors of a decoded marker, and, on an update, of the change from `old`. */
export const validatePodProbeMarker = ratcheted(errorsOf);

function errorsOf({ spec }: Draft<PodProbeMarker>, old: Draft<PodProbeMarker> | undefined): FieldError[] {
  if (!spec) return [required("spec")];
  const errors = [...validateMarkerSelector(spec), ...validateProbes(spec.probes ?? [])];
  if (old?.spec && !sameAsTyped(spec.selector, old.spec.selector, "LabelSelector"))
    errors.push(invalid("selector", spec.selector, "selector must be immutable"));
  return errors;
}

function validateMarkerSelector({ selector }: PodProbeMarkerSpec): FieldError[] {
  const errors = validateSelector(selector, "spec.selector");
  if (termCount(selector) > 0) return errors;
  return [
    ...errors,
    invalid("spec.selector", selector ?? {}, "empty selector is not valid for podProbeMarker."),
  ];
}

function validateProbes(probes: readonly MarkerProbe[]): FieldError[] {
  const path = "spec.probes";
  if (probes.length === 0) return [invalid(path, probes, "empty probes is not valid for PodProbeMarker.")];
  const names = new Set<string>();
  const types = new Set<string>();
  return probes.flatMap((probe) => {
    const { name, containerName, podConditionType = "", markerPolicy } = probe;
    const errors: FieldError[] = [];
    const complain = (detail: string): void => void errors.push(invalid(path, withoutRest(probe), detail));
    if (name.includes("#")) complain("probe name can't contains '#'.");
    if (name === "") complain("probe name can't be empty in PodProbeMarker.");
    if (containerName === "") complain("probe containerName can't be empty in PodProbeMarker.");
    if (takenNames.includes(name)) complain(`probe name can't be ${name}`);
    if (names.has(name)) complain("probe name must be unique in PodProbeMarker.");
    names.add(name);
    errors.push(...validateProbe(probe.probe));
    if (podConditionType === "" && (markerPolicy ?? []).length === 0)
      complain("podConditionType and markerPolicy cannot be empty at the same time");
    if (podConditionType !== "") {
      errors.push(
        ...qualifiedNameErrors(podConditionType).map((text) => invalid(path, podConditionType, text)),
      );
      if (types.has(podConditionType))
        complain(`podConditionType ${podConditionType} must be unique in podProbeMarker`);
      types.add(podConditionType);
    }
    errors.push(...validatePolicies(markerPolicy ?? []));
    return errors;
  });
}

/** What names the probe in an error; the whole of it would fill the screen. */
function withoutRest({ name, containerName, podConditionType }: MarkerProbe): object {
  return { name, containerName, ...(podConditionType === undefined ? {} : { podConditionType }) };
}

const numbers = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
  "terminationGracePeriodSeconds",
] as const;

function validateProbe(probe: Probe): FieldError[] {
  const path = "spec.probe";
  const errors = validateHandlers(probe, path);
  for (const key of numbers) {
    const number = probe[key] ?? 0;
    if (number < 0) errors.push(invalid(`${path}.${key}`, number, "must be greater than or equal to 0"));
  }
  return errors;
}

/** gRPC is in the schema, but nothing here carries it out. */
function validateHandlers({ exec, httpGet, tcpSocket }: Probe, path: string): FieldError[] {
  const found: [string, () => FieldError[]][] = [];
  if (exec)
    found.push(["exec", () => ((exec.command ?? []).length > 0 ? [] : [required(`${path}.exec.command`)])]);
  if (httpGet) found.push(["httpGet", () => validateHttpGet(httpGet, `${path}.httpGet`)]);
  if (tcpSocket) found.push(["tcpSocket", () => validateTcpSocket(tcpSocket, `${path}.tcpSocket`)]);
  if (found.length === 0) return [required(path, "must specify a handler type")];
  return found.flatMap(([name, validate], index) =>
    index === 0 ? validate() : [forbidden(`${path}.${name}`, "may not specify more than 1 handler type")],
  );
}

function validateHttpGet(action: NonNullable<Probe["httpGet"]>, path: string): FieldError[] {
  const { scheme = "", httpHeaders } = action;
  const errors = validateHost(action.host, path);
  if ((action.path ?? "") === "") errors.push(required(`${path}.path`));
  errors.push(...validatePort(action.port, path));
  if (scheme !== "HTTP" && scheme !== "HTTPS")
    errors.push(notSupported(`${path}.scheme`, scheme, ["HTTP", "HTTPS"]));
  for (const { name } of httpHeaders ?? [])
    errors.push(...headerNameErrors(name).map((text) => invalid(`${path}.httpHeaders`, name, text)));
  return errors;
}

function validateTcpSocket(action: NonNullable<Probe["tcpSocket"]>, path: string): FieldError[] {
  return [...validateHost(action.host, path), ...validatePort(action.port, path)];
}

/** The agent probes the pod's own address. */
function validateHost(host: string | undefined, path: string): FieldError[] {
  return (host ?? "") === "" ? [] : [invalid(`${path}.host`, host, "host field in probes is not allowed")];
}

function validatePort(port: number | string, path: string): FieldError[] {
  // Text that is a number is taken for one.
  const problems =
    typeof port === "string" && !/^\d+$/.test(port) ? portNameErrors(port) : portNumberErrors(Number(port));
  return problems.map((text) => invalid(`${path}.port`, port, text));
}

function validatePolicies(policies: Policies): FieldError[] {
  const path = "spec.markerPolicy";
  const states = new Set<string>();
  return policies.flatMap((policy) => {
    const { state, labels, annotations } = policy;
    const errors: FieldError[] = [];
    if (state !== "Succeeded" && state !== "Failed")
      errors.push(invalid(`${path}.state`, state, "marker policy state must be 'True' or 'False'"));
    if (states.has(state)) errors.push(invalid(path, policy, "marker policy state must be unique."));
    states.add(state);
    if (Object.keys(labels ?? {}).length + Object.keys(annotations ?? {}).length === 0)
      errors.push(invalid(path, policy, "marker policy annotations or labels can't be both empty"));
    return [...errors, ...validateLabels(labels, path), ...validateAnnotations(annotations, path)];
  });
}
