import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { type ClaimOptions, claimKubeconfig, processRuns } from "./kubeconfig_file.ts";
import { nodesFor } from "./run.ts";

/** Claims in one folder by processes of which those named run. */
function setUp(folder: string) {
  const running = new Set([1]);
  const claim = (pid: number, more: Partial<ClaimOptions> = {}) => {
    running.add(pid);
    return claimKubeconfig({
      wanted: undefined,
      usualPath: join(folder, "kubeconfig"),
      pid,
      isRunning: (other) => running.has(other),
      ...more,
    });
  };
  return { running, claim };
}

t.test("each sandbox has a file of its own, and removes no other", async (t) => {
  const folder = t.testdir();
  const { claim } = setUp(folder);
  const first = await claim(1);
  const second = await claim(2);
  t.equal(first.path, join(folder, "kubeconfig"));
  t.equal(second.path, join(folder, "kubeconfig-2"));
  await first.write("one");
  await second.write("two");
  t.match(readFileSync(first.path, "utf8"), /^# .*process 1;.*\none$/);
  t.equal(statSync(second.path).mode & 0o777, 0o600);
  await second.remove();
  t.notOk(existsSync(second.path));
  t.ok(existsSync(first.path));
  await first.remove();
  await first.remove();
  t.notOk(existsSync(first.path));
});

t.test("what a killed one left behind is taken over, also if it comes back to remove it", async (t) => {
  const { claim, running } = setUp(t.testdir());
  const killed = await claim(2);
  running.delete(2);
  const next = await claim(3);
  t.equal(next.path, killed.path);
  await next.write("three");
  await killed.remove();
  t.match(readFileSync(next.path, "utf8"), /three$/);
});

t.test("a place that was asked for is taken as it is or refused", async (t) => {
  const folder = t.testdir({ empty: "", mine: "apiVersion: v1" });
  const { claim } = setUp(folder);
  t.equal((await claim(2, { wanted: join(folder, "empty") })).path, join(folder, "empty"));
  await t.rejects(claim(3, { wanted: join(folder, "empty") }), {
    message: /sandbox that runs \(process 2\); choose another place with --kubeconfig-out/,
  });
  await t.rejects(claim(3, { wanted: join(folder, "mine") }), {
    message: /mine is not the kubeconfig of a sandbox; choose/,
  });
  t.equal(readFileSync(join(folder, "mine"), "utf8"), "apiVersion: v1");
  writeFileSync(join(folder, "kubeconfig"), "of somebody");
  t.equal((await claim(4)).path, join(folder, "kubeconfig-2"));
});

t.test("processes that run", async (t) => {
  t.equal(processRuns(process.pid), true);
  t.equal(processRuns(2 ** 30), false);
});

t.test("nodes hold the pods", async (t) => {
  t.equal(nodesFor(20, undefined), 5);
  t.equal(nodesFor(550, undefined), 5);
  t.equal(nodesFor(551, undefined), 6);
  t.equal(nodesFor(5_000, undefined), 46);
  t.equal(nodesFor(110, 1), 1);
  t.throws(
    () => nodesFor(111, 1),
    /111 pods do not fit on one node of 110 pods each: --nodes must be 2 or more/,
  );
});
