/** `refit ui --record` while a rollout goes, as a program of its own that is killed in the middle. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { run } from "../../../testkit/cli/command_fixture.ts";
import { startControlledSandbox } from "../../../testkit/cli/controlled_sandbox.ts";
import { processHost } from "../../host.ts";
import type { Item } from "../shared/items.ts";
import { type RecordedLine, readBlocks } from "../shared/recorded.ts";
import { blocksIn } from "./recording_document.ts";

const { sandbox, api, stopController } = await startControlledSandbox(t, {
  seed: 7,
  gates: "ImagePullJobGate=false",
});
const kubeconfig = join(t.testdir(), "kubeconfig");
writeFileSync(kubeconfig, sandbox.kubeconfig);
const key = "clonesets.apps.kruise.io/default/web";

const linesIn = (path: string): Promise<RecordedLine[]> =>
  readBlocks(blocksIn(existsSync(path) ? readFileSync(path, "utf8") : ""));

function itemsOf(lines: readonly RecordedLine[], feed: string): Item[] {
  return lines.flatMap((line) =>
    !("end" in line) && line.feed === feed ? line.change.put.map(([, item]) => item) : [],
  );
}

/** Rejects after a minute. */
async function untilRecorded(
  path: string,
  holds: (lines: readonly RecordedLine[]) => boolean,
): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    if (holds(await linesIn(path))) return;
    await sleep(100);
  }
  throw new Error(`${path} never held it`);
}

const clones = "/apis/apps.kruise.io/v1beta1/namespaces/default/clonesets";
const setImage = (image: string) =>
  api.patch(`${clones}/web`, { spec: { template: { spec: { containers: [{ name: "web", image }] } } } });

function startProgram(t: Test, path: string): ChildProcess {
  const words = ["ui", "--kubeconfig", kubeconfig, "--record", path];
  const program = spawn(process.execPath, [join(import.meta.dirname, "../../bin.js"), ...words], {
    stdio: "ignore",
  });
  t.teardown(() => program.kill("SIGKILL"));
  return program;
}

const isDone = (item: Item): boolean =>
  item.is === "workload" && item.state === "done" && item.available === 6;

t.test("a rollout is recorded with its pods and answers until the program is killed", async (t) => {
  const path = join(t.testdir(), "killed.html");
  const program = startProgram(t, path);
  await api.post(clones, {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "CloneSet",
    metadata: { name: "web" },
    spec: {
      replicas: 6,
      // Longer than the recorder rests: what begins and ends between two of its looks is not followed.
      minReadySeconds: 1,
      selector: { matchLabels: { app: "web" } },
      updateStrategy: { rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 2 } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "web", image: "web:1" }] },
      },
    },
  });
  await untilRecorded(path, (lines) => itemsOf(lines, "").some(isDone));
  await setImage("web:2");
  const isUpdated = (item: Item): boolean => item.is === "pod" && item.image === "web:2";
  const isAnswer = ({ is }: Item): boolean => is === "answer";
  // Answers come when the server has time for them.
  await untilRecorded(path, (lines) => [isUpdated, isAnswer].every((each) => itemsOf(lines, key).some(each)));
  program.kill("SIGKILL");
  await once(program, "exit");
  const lines = await linesIn(path);
  t.ok(itemsOf(lines, key).some(isUpdated), "the rollout that went on is in it");
  t.ok(itemsOf(lines, key).some(isAnswer), "with its answers");
  t.notOk(
    lines.some((line) => "end" in line),
    "it does not say that it was stopped",
  );
  const [, token = "no token"] = /token: (\S+)/.exec(sandbox.kubeconfig) ?? [];
  t.notMatch(
    JSON.stringify(lines) + readFileSync(path, "utf8"),
    token,
    "the token of the cluster is not in it",
  );
});

t.test("what is stopped says so, and is served by the same command", async (t) => {
  const path = join(t.testdir(), "stopped.html");
  const stopping = new AbortController();
  const io = { stdout: { write: () => undefined }, signal: stopping.signal };
  const words = `ui --kubeconfig ${kubeconfig} --record ${path}`;
  const ended = run(words, { host: processHost(), io });
  await untilRecorded(path, (lines) => itemsOf(lines, "").some(({ is }) => is === "workload"));
  stopping.abort();
  t.equal((await ended).code, 0);
  t.strictSame((await linesIn(path)).at(-1), { end: "stopped" });
  const again = await run(words, { host: processHost(), io });
  t.match(again, { code: 1, stderr: /there is such a file already; choose another name/ });
  const both = await run(`ui ${path} --record x.html`, { host: processHost(), io });
  t.match(both, { code: 1, stderr: /leave out the flag, or the file/ });
  const served = await run(`ui ${path}`, { host: processHost(), io });
  t.match(served, { code: 0 });
  const other = await run(`ui ${kubeconfig}`, { host: processHost(), io });
  t.match(other, { code: 1, stderr: /is no recording/ });
});

t.test("the controller ends when it is asked to", async (t) => {
  t.equal((await stopController()).code, 0);
});
