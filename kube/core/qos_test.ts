import t from "tap";
import { podQos } from "./index.ts";

const container = (limits?: Record<string, string>, requests?: Record<string, string>) => ({
  resources: { limits, requests },
});

t.test("classes", (t) => {
  const both = { cpu: "1", memory: "1Gi" };
  t.equal(podQos({ containers: [{}] }), "BestEffort");
  t.equal(podQos({ containers: [container({ "example.com/gpu": "1" })] }), "BestEffort");
  t.equal(podQos({ containers: [container(both, both)] }), "Guaranteed");
  t.equal(podQos({ containers: [container(both)] }), "Guaranteed", "requests default to limits");
  t.equal(podQos({ containers: [container({ cpu: "1000m", memory: "1Gi" }, both)] }), "Guaranteed");
  t.equal(podQos({ containers: [container(both, { cpu: "1", memory: "1Mi" })] }), "Burstable");
  t.equal(podQos({ containers: [container({ cpu: "1" })] }), "Burstable");
  t.equal(podQos({ containers: [container(both), {}] }), "Burstable");
  t.equal(podQos({ containers: [container(both)], initContainers: [{}] }), "Burstable");
  t.equal(
    podQos({ resources: { limits: both }, containers: [{}] }),
    "Guaranteed",
    "resources of the pod decide",
  );
  t.end();
});
