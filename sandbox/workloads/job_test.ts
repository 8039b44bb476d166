import fc from "fast-check";
import t from "tap";
import { formatTime } from "../../kube/core/index.ts";
import type { PodObject } from "../objects/index.ts";
import { retryInMs } from "./job.ts";

const start = Date.UTC(2026, 0, 1);
const backOff = { firstMs: 10_000, longestMs: 300_000 };

function ended(phase: "Failed" | "Succeeded", second: number): PodObject {
  const finishedAt = formatTime(start + second * 1_000);
  const terminated = { exitCode: 1, reason: "Error", startedAt: finishedAt, finishedAt, containerID: "" };
  const status = {
    name: "c",
    state: { terminated },
    lastState: {},
    ready: false,
    restartCount: 0,
    image: "",
    imageID: "",
  };
  return {
    metadata: { name: `p${second}`, creationTimestamp: formatTime(start) },
    spec: { containers: [] },
    status: { phase, containerStatuses: [{ ...status, started: false }] },
  };
}

t.test("the wait after failures doubles, from the last one, and starts over after a success", async (t) => {
  t.equal(retryInMs([], backOff, start), 0);
  t.equal(retryInMs([ended("Failed", 0)], backOff, start), 10_000);
  t.equal(retryInMs([ended("Failed", 0), ended("Failed", 10)], backOff, start + 10_000), 20_000);
  t.equal(retryInMs([ended("Failed", 10), ended("Failed", 0)], backOff, start + 25_000), 5_000);
  t.equal(retryInMs([ended("Failed", 0), ended("Succeeded", 5)], backOff, start + 6_000), 0);
  const mixed = [ended("Failed", 0), ended("Succeeded", 5), ended("Failed", 6)];
  t.equal(retryInMs(mixed, backOff, start + 6_000), 10_000);
  t.equal(
    retryInMs(
      Array.from({ length: 30 }, (_, at) => ended("Failed", at)),
      backOff,
      start + 29_000,
    ),
    300_000,
  );
});

t.test("a wait is over at the latest when the longest has passed since the last failure", async () => {
  const pod = fc.tuple(fc.constantFrom("Failed" as const, "Succeeded" as const), fc.nat(100));
  fc.assert(
    fc.property(fc.array(pod, { maxLength: 12 }), fc.nat(1_000), (pods, second) => {
      const wait = retryInMs(
        pods.map(([phase, at]) => ended(phase, at)),
        backOff,
        start + second * 1_000,
      );
      const last = Math.max(-1, ...pods.filter(([phase]) => phase === "Failed").map(([, at]) => at));
      return wait >= 0 && (wait === 0 || wait <= backOff.longestMs - (second - last) * 1_000);
    }),
    { seed: 20_260_101, numRuns: 2_000 },
  );
});
