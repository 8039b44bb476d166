import t from "tap";
import type { JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { handlerOf, withGates } from "../../../testkit/controller/kind_admission.ts";
import type { AdmissionResponse } from "../../runtime/admission/request.ts";
import { podProbeMarkerWebhooks } from "./admit.ts";

const exec = { exec: { command: ["true"] } };
const good = { name: "idle", containerName: "main", podConditionType: "case.example/idle", probe: exec };

function marker(spec: object = {}, metadata: object = {}): JsonObject {
  return {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "PodProbeMarker",
    metadata: { name: "idle", namespace: "default", ...metadata },
    spec: { selector: { matchLabels: { a: "b" } }, probes: [good], ...spec },
  };
}

async function ask(object: JsonObject, oldObject?: JsonObject, gates = ""): Promise<AdmissionResponse> {
  const request = admissionRequest({ object, oldObject });
  return handlerOf(podProbeMarkerWebhooks, "validating", withGates(gates))(request);
}

async function refusal(spec: object): Promise<string> {
  const answer = await ask(marker(spec));
  if (answer.allowed) return "allowed";
  return `${answer.code} ${answer.message}`;
}

const withProbe = (probe: object) => refusal({ probes: [{ ...good, probe }] });

t.test("accepted", async (t) => {
  t.same(await ask(marker()), { allowed: true });
  const http = { httpGet: { path: "/", port: "web", scheme: "HTTP" }, periodSeconds: 3 };
  t.equal(await withProbe(http), "allowed");
  t.equal(await withProbe({ tcpSocket: { port: "80" } }), "allowed");
});

t.test("selectors", async (t) => {
  t.match(
    await refusal({ selector: {} }),
    /^400 spec.selector: Invalid value: .*empty selector is not valid for podProbeMarker\.$/,
  );
  const answer = await ask(marker({ selector: { matchLabels: { other: "x" } } }), marker());
  t.match(answer, { allowed: false, code: 400, message: /^selector: .*: selector must be immutable$/ });
  t.same(await ask(marker({ probes: [{ ...good, name: "b" }] }), marker()), { allowed: true });
});

t.test("probes", async (t) => {
  t.match(
    await refusal({ probes: [] }),
    /^400 spec.probes: .*empty probes is not valid for PodProbeMarker\.$/,
  );
  const named = (name: string) => refusal({ probes: [{ ...good, name }] });
  t.match(await named("a#b"), /spec.probes: .*probe name can't contains '#'\./);
  t.match(await named(""), /probe name can't be empty in PodProbeMarker\./);
  t.match(await named("Ready"), /probe name can't be Ready$/);
  t.match(
    await refusal({ probes: [{ ...good, containerName: "" }] }),
    /probe containerName can't be empty in PodProbeMarker\./,
  );
  const twice = await refusal({ probes: [good, good] });
  t.match(twice, /probe name must be unique in PodProbeMarker\./);
  t.match(twice, /podConditionType case.example\/idle must be unique in podProbeMarker/);
  t.match(
    await refusal({ probes: [{ name: "a", containerName: "b", probe: exec }] }),
    /podConditionType and markerPolicy cannot be empty at the same time/,
  );
  t.match(
    await refusal({ probes: [{ ...good, podConditionType: "a b" }] }),
    /^400 spec.probes: Invalid value: "a b"/,
  );
});

t.test("handlers, in the words of the API", async (t) => {
  t.equal(
    await withProbe({ grpc: { port: 80 } }),
    "400 spec.probe: Required value: must specify a handler type",
  );
  t.equal(
    await withProbe({ ...exec, tcpSocket: { port: 80 } }),
    "400 spec.probe.tcpSocket: Forbidden: may not specify more than 1 handler type",
  );
  t.equal(await withProbe({ exec: {} }), "400 spec.probe.exec.command: Required value");
  t.equal(
    await withProbe({ tcpSocket: { port: 80, host: "x" } }),
    '400 spec.probe.tcpSocket.host: Invalid value: "x": host field in probes is not allowed',
  );
  t.equal(
    await withProbe({ httpGet: { path: "/", port: 80 } }),
    '400 spec.probe.httpGet.scheme: Unsupported value: "": supported values: "HTTP", "HTTPS"',
  );
  t.equal(
    await withProbe({ httpGet: { port: 80, scheme: "HTTP" } }),
    "400 spec.probe.httpGet.path: Required value",
  );
  t.match(
    await withProbe({ tcpSocket: { port: 0 } }),
    /spec.probe.tcpSocket.port: Invalid value: 0: must be between 1 and 65535/,
  );
  t.equal(
    await withProbe({ ...exec, periodSeconds: -1 }),
    "400 spec.probe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
  );
  t.equal(await withProbe({ ...exec, terminationGracePeriodSeconds: 0 }), "allowed", "it has no effect");
  t.equal(
    await withProbe({ ...exec, terminationGracePeriodSeconds: -1 }),
    "400 spec.probe.terminationGracePeriodSeconds: Invalid value: -1: must be greater than or equal to 0",
  );
});

t.test("policies", async (t) => {
  const policies = (...markerPolicy: object[]) => refusal({ probes: [{ ...good, markerPolicy }] });
  const labels = { a: "b" };
  t.match(
    await policies({ state: "True", labels }),
    /^400 spec.markerPolicy.state: Invalid value: "True": marker policy state must be 'True' or 'False'$/,
  );
  t.match(
    await policies({ state: "Failed", labels }, { state: "Failed", labels }),
    /spec.markerPolicy: .*marker policy state must be unique\./,
  );
  t.match(await policies({ state: "Failed" }), /marker policy annotations or labels can't be both empty/);
  t.match(
    await policies({ state: "Failed", labels: { "a b": "" } }),
    /^400 spec.markerPolicy: Invalid value: "a b"/,
  );
});

t.test("gates", async (t) => {
  t.match(await ask(marker(), undefined, "PodProbeMarkerGate=false"), {
    code: 403,
    message: "feature-gate PodProbeMarkerGate is not enabled",
  });
  t.match(await ask(marker(), undefined, "KruiseDaemon=false"), { code: 403 });
  const leaving = marker({}, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  t.same(await ask(leaving, leaving, "KruiseDaemon=false"), { allowed: true }, "its finalizer can still go");
});

t.test("what is no marker at all is reported, not thrown", async (t) => {
  t.match(await ask(marker({ probes: "x" })), { allowed: false, code: 400 });
  t.match(await ask({ apiVersion: "apps.kruise.io/v9", metadata: {}, spec: {} }), {
    allowed: false,
    code: 400,
    message: /unsupported version: v9/,
  });
  t.match(await ask({ apiVersion: "apps.kruise.io/v1alpha1" }), { allowed: false, code: 400 });
});
