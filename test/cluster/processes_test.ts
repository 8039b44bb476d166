import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { type Service, untilAllReady } from "./processes.ts";

function service(t: Test, name: string, log: string, exitCode?: number): Service {
  const logFile = join(t.testdirName, name);
  writeFileSync(logFile, log);
  return {
    name,
    pid: 0,
    logFile,
    exitCode: () => exitCode,
    kill: () => undefined,
    stop: async () => undefined,
  };
}

t.test("what was not ready is named, with the end of its log", async (t) => {
  t.testdir({});
  const later = [false, true];
  const probed = [
    { service: service(t, "kubelet-a", "a line\nno network\n"), probe: async () => false },
    { service: service(t, "kubelet-b", "all is well\n"), probe: async () => later.shift() ?? true },
    { service: service(t, "kubelet-c", "no such flag\n", 2), probe: () => Promise.reject(new Error("404")) },
  ];
  await t.rejects(untilAllReady(probed, 300), {
    message:
      /^kubelet-a was not ready after .*:\na line\nno network\nkubelet-c ended with code 2 before it was ready:\nno such flag$/,
  });
});

t.test("nothing is said when all are ready", async (t) => {
  t.testdir({});
  await untilAllReady([{ service: service(t, "kubelet-a", ""), probe: async () => true }], 300);
});
