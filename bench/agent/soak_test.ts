import t from "tap";
import type { Instance } from "./instances.ts";
import { attemptFaults, soakTable, statusFaults } from "./soak.ts";

const status = (image: string, restartCount: number, running = true) => ({
  name: "app",
  image,
  ready: true,
  restartCount,
  state: running ? { running: {} } : { waiting: { reason: "CreateContainerError" } },
});
const pod = (...containerStatuses: ReturnType<typeof status>[]) => ({
  metadata: { name: "p" },
  status: { containerStatuses },
});

t.test("a status with the image, the count and a running container is right", (t) => {
  t.same(statusFaults(pod(status("docker.io/library/nginx:1.21", 3)), "nginx:1.21", 3), []);
  t.same(statusFaults(pod(status("nginx:1.20", 4, false)), "nginx:1.21", 3), [
    "app was restarted 4 times",
    "app is of nginx:1.20",
    "app is CreateContainerError",
  ]);
  t.end();
});

t.test("one instance for each swap and one before them", (t) => {
  const ran = (attempt: number): Instance => ({
    name: "app",
    attempt,
    createdAt: attempt,
    startedAt: attempt,
    finishedAt: attempt + 1,
  });
  t.same(attemptFaults([ran(0), ran(1), ran(2)], 2), []);
  t.same(attemptFaults([ran(0), ran(1), ran(2)], 1), ["app: 3 instances ran for 1 swaps"]);
  t.same(attemptFaults([ran(0), ran(1), ran(1)], 2), ["app: 3 instances ran for 2 swaps"]);
  t.end();
});

t.test("the table says what was longest and what was wrong", (t) => {
  const text = soakTable({
    containers: 4,
    swaps: 2,
    loops: 2,
    load: [3, 2, 1],
    handovers: [
      { name: "a", gapMs: 100, createMs: 30, startMs: 70 },
      { name: "a", gapMs: 200, createMs: 120, startMs: 80 },
    ],
    warnings: { Failed: 2 },
    violations: ["two instances ran: a 1 2"],
  }).join("\n");
  t.match(text, /2 swaps of a pod of 4, 2 busy loops, load average 3\.0 2\.0 1\.0/);
  t.match(text, /no instance running: median 150, 99 % 199, longest 200 ms/);
  t.match(text, /warnings: 2 Failed/);
  t.match(text, /VIOLATION two instances ran: a 1 2/);
  t.end();
});
