/** Probes and lifecycle hooks. */
import { headerNameErrors, portNameErrors, portNumberErrors } from "../../names.ts";
import type { Cursor } from "./cursor.ts";

export interface HandlerContext {
  /** The pod's terminationGracePeriodSeconds. */
  readonly gracePeriod: number | undefined;
  /** `spec.os.name`, empty if unset. */
  readonly os: string;
}

export function validateProbes(container: Cursor, context: HandlerContext): void {
  for (const name of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    const probe = container.object(name);
    if (probe === undefined) continue;
    validateProbe(probe, context);
    const grace = probe.number("terminationGracePeriodSeconds");
    if (name === "readinessProbe") {
      if (grace !== undefined) {
        probe.invalid("terminationGracePeriodSeconds", grace, "must not be set for readinessProbes");
      }
    } else if ((probe.number("successThreshold") ?? 0) !== 1) {
      probe.invalid("successThreshold", probe.number("successThreshold") ?? 0, "must be 1");
    }
  }
}

const probeNumbers = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
];

function validateProbe(probe: Cursor, context: HandlerContext): void {
  validateHandler(probe, context);
  for (const key of probeNumbers) {
    const number = probe.number(key) ?? 0;
    if (number < 0) probe.invalid(key, number, "must be greater than or equal to 0");
  }
  const grace = probe.number("terminationGracePeriodSeconds");
  if (grace !== undefined && grace <= 0) {
    probe.invalid("terminationGracePeriodSeconds", grace, "must be greater than 0");
  }
}

export function validateLifecycle(container: Cursor, context: HandlerContext): void {
  const lifecycle = container.object("lifecycle");
  for (const name of ["postStart", "preStop"]) {
    const hook = lifecycle?.object(name);
    if (hook !== undefined) validateHandler(hook, context);
  }
  if (lifecycle?.has("stopSignal")) validateStopSignal(lifecycle, context.os);
}

const handlers: Readonly<Record<string, (action: Cursor, context: HandlerContext) => void>> = {
  exec(action) {
    if (action.list("command").length === 0) action.required("command");
  },
  httpGet: validateHttpGet,
  tcpSocket: (action) => validatePort(action),
  grpc: (action) =>
    action.complain("port", action.number("port") ?? 0, portNumberErrors(action.number("port") ?? 0)),
  sleep(action, { gracePeriod }) {
    const seconds = action.number("seconds") ?? 0;
    if (gracePeriod === undefined || (seconds >= 0 && seconds <= gracePeriod)) return;
    action.invalid(
      "",
      seconds,
      `must be non-negative and less than terminationGracePeriodSeconds (${gracePeriod})`,
    );
  },
};

function validateHandler(handler: Cursor, context: HandlerContext): void {
  let found = false;
  for (const [name, validate] of Object.entries(handlers)) {
    const action = handler.object(name);
    if (action === undefined) continue;
    if (found) handler.forbidden(name, "may not specify more than 1 handler type");
    else validate(action, context);
    found = true;
  }
  if (!found) handler.required("", "must specify a handler type");
}

function validateHttpGet(action: Cursor): void {
  action.needsText("path");
  validatePort(action);
  action.oneOf("scheme", ["HTTP", "HTTPS"]);
  for (const header of action.objects("httpHeaders")) {
    action.complain("httpHeaders", header.text("name"), headerNameErrors(header.text("name")));
  }
}

function validatePort(action: Cursor): void {
  const port = action.value["port"];
  if (typeof port === "string") action.complain("port", port, portNameErrors(port));
  else action.complain("port", port ?? 0, portNumberErrors(port ?? 0));
}

const windowsSignals = ["SIGKILL", "SIGTERM"];
const realTime = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${name}${index + 1}`);
/** Linux knows real-time signals by their distance from either end. */
const linuxSignals: readonly string[] = [
  ..."ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX"
    .split(" ")
    .map((name) => `SIG${name}`),
  ...realTime("SIGRTMIN+", 15),
  ...realTime("SIGRTMAX-", 14),
].sort();

function validateStopSignal(lifecycle: Cursor, os: string): void {
  if (os === "") {
    lifecycle.forbidden("stopSignal", "may not be set for containers with empty `spec.os.name`");
    return;
  }
  lifecycle.oneOf("stopSignal", os === "windows" ? windowsSignals : linuxSignals);
}
