import t from "tap";
import type { Pod, PodCondition } from "../../../kube/index.ts";
import { acceptedPod } from "./pod_manifest.ts";
import { isReady } from "./pod_state.ts";

function pod(statuses: Readonly<Record<string, string>>, readinessGates: readonly string[]): Pod {
  const conditions: PodCondition[] = Object.entries(statuses).map(([type, status]) => ({
    type,
    status,
    reason: "",
    message: "",
    lastTransitionAt: 0,
  }));
  const accepted = acceptedPod({ name: "p", namespace: "d" }, { containers: [] }, 0);
  return { ...accepted, uid: "u", phase: "Running", conditions, readinessGates };
}

t.test("a gate of ours holds a pod although its kubelet still says Ready", async (t) => {
  const gates = ["InPlaceUpdateReady", "KruisePodReady"];
  t.ok(isReady(pod({ Ready: "True" }, [])));
  t.ok(isReady(pod({ Ready: "True", InPlaceUpdateReady: "True", KruisePodReady: "True" }, gates)));
  for (const gate of gates) t.notOk(isReady(pod({ Ready: "True", [gate]: "False" }, gates)), gate);
  t.ok(isReady(pod({ Ready: "True", KruisePodReady: "False" }, [])), "a condition that nobody asks for");
  t.ok(
    isReady(pod({ Ready: "True", "example.com/other": "False" }, ["example.com/other"])),
    "the kubelet's word",
  );
});
