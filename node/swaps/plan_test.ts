import t from "tap";
import { type AgentPod, agentPod } from "../pod.ts";
import { kubeletEvidence, swapAnnotation, swapsOf } from "./plan.ts";

interface Options {
  readonly annotation?: string;
  readonly deleting?: boolean;
  readonly generation?: number;
  readonly hook?: boolean;
  readonly observedGeneration?: number;
  readonly uid?: string;
}

function pod(image: string, options: Options = {}): AgentPod {
  const { annotation = "true", deleting, generation = 2, hook, observedGeneration = 2, uid = "u" } = options;
  return agentPod({
    metadata: {
      name: "web",
      uid,
      generation,
      annotations: { [swapAnnotation]: annotation },
      ...(deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    spec: {
      containers: [
        { name: "app", image, ...(hook ? { lifecycle: { preStop: { exec: { command: ["bye"] } } } } : {}) },
        { name: "side", image: "side:1" },
      ],
    },
    status: { observedGeneration },
  });
}

t.test("containers with another image, where the pod asks for it and the agent may", async (t) => {
  const before = pod("nginx:1");
  t.same(swapsOf(before, pod("nginx:2")), [{ name: "app", lastImage: "nginx:1" }]);
  t.same(swapsOf(before, before), []);
  const refused: Options[] = [
    { annotation: "false" },
    { deleting: true },
    { generation: 0 },
    { hook: true },
    { uid: "another" },
  ];
  for (const options of refused)
    t.same(swapsOf(before, pod("nginx:2", options)), [], JSON.stringify(options));
});

t.test("a kubelet has the new spec when it reports its generation", async (t) => {
  const behind = { generation: 3 };
  t.equal(kubeletEvidence(pod("nginx:2"), "app", "nginx:2"), "reported");
  t.equal(kubeletEvidence(pod("nginx:2", behind), "app", "nginx:2"), undefined);
  t.equal(kubeletEvidence(pod("nginx:3", behind), "app", "nginx:2"), "none", "the image changed again");
  t.equal(kubeletEvidence(pod("nginx:2", { deleting: true }), "app", "nginx:2"), "none");
  t.equal(kubeletEvidence(undefined, "app", "nginx:2"), "none");
});
