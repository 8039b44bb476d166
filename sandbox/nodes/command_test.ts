import t from "tap";
import type { Container, PodObject } from "../objects/index.ts";
import { behaviourOfCommand, endOf, probePassesMs } from "./command.ts";

const pod = (spec: object = {}, annotations: Record<string, string> = {}): PodObject => ({
  metadata: { name: "a", annotations },
  spec: { containers: [], ...spec },
});

t.test("command lines that are understood", async (t) => {
  const ends = (words: string[]) => behaviourOfCommand(words).end;
  t.same(ends(["true"]), { afterMs: 0, code: 0 });
  t.same(ends(["false"]), { afterMs: 0, code: 1 });
  t.same(ends(["/bin/sleep", "90"]), { afterMs: 90_000, code: 0 });
  t.same(ends(["sleep", "999d"]), { afterMs: 999 * 86_400_000, code: 0 });
  t.same(ends(["sleep", "infinity"]), undefined);
  t.same(ends(["echo", "done"]), { afterMs: 0, code: 0 });
  t.same(ends(["sh", "-c", "sleep 1; exit 1"]), { afterMs: 1_000, code: 1 });
  t.same(ends(["sh", "-ec", "exit 7"]), { afterMs: 0, code: 7 });
  t.same(ends(["/bin/sh", "-c", "for i in 9 8 7; do echo $i; done"]), { afterMs: 0, code: 0 });
  t.same(ends(["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 1; done"]), undefined);
  t.equal(behaviourOfCommand(["sh", "-c", "while true; do sleep 1; done"]).understood, true);
  t.equal(behaviourOfCommand(["perl", "-e", "1"]).understood, false);
});

t.test("an annotation says when a container exits, for one or for all", async (t) => {
  const container: Container = { name: "web" };
  t.same(endOf(pod({}, { "sandbox.refit.dev/exit": "3@500ms" }), container, "main"), {
    afterMs: 500,
    code: 3,
  });
  t.same(
    endOf(pod({}, { "web.sandbox.refit.dev/exit": "4", "sandbox.refit.dev/exit": "3" }), container, "main"),
    {
      afterMs: 0,
      code: 4,
    },
  );
  t.same(endOf(pod({}, { "other.sandbox.refit.dev/exit": "4" }), container, "main"), undefined);
});

t.test("commands that say nothing: init containers and tasks end well, servers run on", async (t) => {
  const container: Container = { name: "c", command: ["./do-it"] };
  t.same(endOf(pod(), container, "init"), { afterMs: 0, code: 0 });
  t.same(endOf(pod({ restartPolicy: "Never" }), container, "main"), { afterMs: 0, code: 0 });
  t.same(endOf(pod({ restartPolicy: "Always" }), container, "main"), undefined);
  t.same(endOf(pod({ restartPolicy: "Never" }), { name: "c" }, "main"), undefined);
});

t.test("probes pass after their delay and when their file is there", async (t) => {
  const none = new Set<string>();
  const command = ["sh", "-c", "sleep 8; touch /tmp/ok; sleep 86400"];
  const readinessProbe = { exec: { command: ["test", "-f", "/tmp/ok"] } };
  t.equal(probePassesMs(pod(), { name: "c" }, none), 0);
  t.equal(probePassesMs(pod(), { name: "c", command, readinessProbe }, none), 8_000);
  t.equal(probePassesMs(pod(), { name: "c", readinessProbe }, none), undefined);
  t.equal(probePassesMs(pod(), { name: "c", readinessProbe }, new Set(["/tmp/ok"])), 0);
  const failing = { exec: { command: ["false"] } };
  t.equal(probePassesMs(pod(), { name: "c", readinessProbe: failing }, none), undefined);
  t.equal(
    probePassesMs(
      pod(),
      { name: "c", readinessProbe: { httpGet: { port: 80 }, initialDelaySeconds: 2 } },
      none,
    ),
    2_000,
  );
});
