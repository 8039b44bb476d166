import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { Item } from "../cluster/api.ts";
import { sceneOf } from "./scene.ts";

function item(name: string, more: Partial<Item>): Item {
  const metadata = {
    name,
    uid: name,
    resourceVersion: "7",
    generation: 1,
    creationTimestamp: "2026-01-01T00:00:00Z",
  };
  return { apiVersion: "v1", kind: "Any", metadata, ...more };
}

t.test("pods with what their containers wait for, events, and the end of the logs", async (t) => {
  const waiting = { waiting: { reason: "CreateContainerConfigError", message: "no key p_-1" } };
  const status = { name: "b", image: "i", imageID: "", ready: false, restartCount: 2, state: waiting };
  const pod = item("levels", {
    spec: { nodeName: "n1" },
    status: {
      phase: "Pending",
      containerStatuses: [status],
      conditions: [
        { type: "Initialized", status: "True" },
        { type: "PodScheduled", status: "False", message: "no volume fits" },
      ],
    },
  });
  const claim = item("data", { spec: { volumeName: "v1" }, status: { phase: "Bound" } });
  const event = item("e", {
    involvedObject: { kind: "Pod", name: "levels" },
    reason: "Failed",
    message: "x".repeat(500),
    lastTimestamp: "2026-01-01T00:00:01Z",
  });
  const folder = t.testdir();
  const log = join(folder, "controller.log");
  writeFileSync(log, Array.from({ length: 50 }, (_, line) => `line ${line}`).join("\n"));
  const lists: Record<string, Item[]> = { pods: [pod], persistentvolumeclaims: [claim], events: [event] };
  const list = async (resource: string) => lists[resource] ?? [];
  const scene = await sceneOf({ list }, "case", [log, join(folder, "none.log")]);
  t.match(scene, "pod levels on n1 v7: Pending PodScheduled=False@? (no volume fits)\n");
  t.match(scene, "claim data: Bound v1\n");
  t.match(scene, "b: waiting CreateContainerConfigError no key p_-1 ready=false restarts=2");
  t.match(scene, /event 2026-01-01T00:00:01Z Pod levels: Failed x1: x{240}…\n/);
  t.match(scene, /line 49\n/);
  t.notMatch(scene, "line 39");
  t.match(scene, "none.log cannot be read");
});

t.test("a server that does not answer is said, not thrown", async (t) => {
  const list = () => Promise.reject(new Error("connection refused"));
  t.match(await sceneOf({ list }, "case", []), "could not be read: connection refused");
});
