import t from "tap";
import { report } from "./report.ts";
import type { Run } from "./run.ts";
import type { Story } from "./story.ts";

const story: Story = {
  seed: 7,
  replicas: 1,
  shards: 1,
  nodes: 2,
  namespaces: ["blue"],
  steps: [{ at: 5_000, do: { act: "delete", path: "/api/v1/namespaces/blue/pods/web" } }],
  stale: [],
};
const ended: Run = { violations: [], simulatedMs: 12_345, writes: 1, digest: "", trace: [] };

t.test("a story that ends well says so, and nothing of what must not be", (t) => {
  const text = report(story, ended);
  t.match(text, "Nothing went wrong: the cluster is at rest after 12.345 s.");
  t.notMatch(text, "What must not be");
  t.end();
});

t.test("a story that goes wrong ends with what must not be", (t) => {
  const text = report(story, {
    ...ended,
    violations: [{ at: 6_000, check: "settled", text: "CloneSet blue/web: 3 pods" }],
  });
  t.match(text, /What must not be:\n +6\.000 s {2}CloneSet blue\/web: 3 pods$/);
  t.notMatch(text, "Nothing went wrong");
  t.end();
});
