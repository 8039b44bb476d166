import t from "tap";
import { type AgentPod, agentPod } from "../pod.ts";
import { livenessProbesOf } from "./plan.ts";

function pod(
  context: unknown,
  more: { annotations?: object; phase?: string; owner?: string } = {},
): AgentPod {
  const { annotations, phase = "Running", owner = "apps.kruise.io/v1beta1" } = more;
  return agentPod({
    metadata: {
      name: "web",
      namespace: "ns",
      uid: "u1",
      resourceVersion: "1",
      annotations: annotations ?? {
        "apps.kruise.io/using-enhanced-liveness": "true",
        "apps.kruise.io/container-probe-context":
          typeof context === "string" ? context : JSON.stringify(context),
      },
      ownerReferences: [{ apiVersion: owner, kind: "CloneSet", name: "x", uid: "o", controller: true }],
    },
    spec: { containers: [{ name: "main", ports: [{ name: "web", containerPort: 8080 }] }, { name: "side" }] },
    status: { phase, podIP: "10.0.0.1" },
  });
}

const exec = { exec: { command: ["check"] } };

t.test("what the annotation asks for, with the API's defaults", async (t) => {
  const found = livenessProbesOf(
    pod([
      { name: "main", livenessProbe: { httpGet: { port: "web" }, periodSeconds: 3 } },
      { name: "side", livenessProbe: { tcpSocket: { port: 81 } } },
      { name: "gone", livenessProbe: exec },
      { name: "side", livenessProbe: { grpc: { port: 1 } } },
      "odd",
    ]),
  );
  t.same(found, [
    {
      container: "main",
      probe: {
        initialDelaySeconds: 0,
        periodSeconds: 3,
        timeoutSeconds: 1,
        failureThreshold: 3,
        httpGet: { port: 8080, path: "/", scheme: "HTTP", httpHeaders: [] },
      },
    },
    {
      container: "side",
      probe: {
        initialDelaySeconds: 0,
        periodSeconds: 10,
        timeoutSeconds: 1,
        failureThreshold: 3,
        tcpSocket: { port: 81 },
      },
    },
  ]);
  const asked = [{ name: "main", livenessProbe: exec }];
  t.equal(livenessProbesOf(pod(asked)).length, 1);
  t.same(livenessProbesOf(pod("{not json")), []);
  t.same(livenessProbesOf(pod(asked, { annotations: {} })), []);
  t.same(livenessProbesOf(pod(asked, { phase: "Pending" })), []);
  t.same(livenessProbesOf(pod(asked, { owner: "apps/v1" })), []);
});
