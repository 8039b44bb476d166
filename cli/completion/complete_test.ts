import t from "tap";
import { run } from "../../testkit/cli/command_fixture.ts";
import { fakeCluster } from "../../testkit/cli/fake_cluster.ts";
import { cloneSet } from "../../testkit/cli/workload_builder.ts";
import { commandGroups } from "../commands.ts";

/** Candidates, and whether file names fit. */
async function completed(...words: string[]) {
  const cluster = fakeCluster();
  for (const name of ["sample", "second"]) cluster.put("clonesets.apps.kruise.io", cloneSet(name));
  const { code, stdout } = await run(["__complete", ...words], { client: cluster.client });
  const lines = stdout.trimEnd().split("\n");
  const last = lines.pop();
  t.equal(code, 0);
  return { words: lines.map((line) => line.split("\t")[0]), files: last === ":0" };
}

t.test("every command is found by its words, with what it does", async (t) => {
  const first = await completed("");
  for (const { commands, isHidden } of commandGroups) {
    if (isHidden === true) continue;
    for (const { name } of commands) {
      const [group = "", second] = name.split(" ");
      t.ok(first.words.includes(group), name);
      if (second !== undefined) t.ok((await completed(group, "")).words.includes(second), name);
    }
  }
  t.notOk(first.words.includes("__complete"));
  t.same((await completed("ro")).words, ["rollout"]);
  t.same((await completed("rollout", "re")).words, ["resume", "restart"]);
  t.match((await run(["__complete", "ve"])).stdout, "version\tPrint the versions");
});

t.test("flags and their values", async (t) => {
  t.same((await completed("rollout", "status", "--re")).words, ["--revision", "--request-timeout"]);
  t.same((await completed("--con")).words, ["--context"]);
  t.same((await completed("--help")).words, ["--help"]);
  t.same((await completed("get", "-o", "")).words, ["json", "yaml", "name", "wide"]);
  t.same((await completed("get", "--output=w")).words, ["--output=wide"]);
  t.same((await completed("scale", "--dry-run=")).words, []);
  t.same((await completed("set", "image", "--dry-run=s")).words, ["--dry-run=server"]);
  t.same((await completed("rollout", "status", "--watch=f")).words, ["--watch=false"]);
  t.same(await completed("plan", "-f", ""), { words: [], files: true });
  t.same(await completed("--kubeconfig", "x"), { words: [], files: true });
  t.same(await completed("up", "--pods", ""), { words: [], files: false });
  t.same((await completed("controller", "--cloneset-w")).words, ["--cloneset-workers"]);
  t.same((await completed("agent", "--s")).words, ["--socket-file", "--state-dir"]);
  t.same((await completed("agent", "--kube")).words, ["--kubeconfig"]);
  t.same(await completed("agent", "--socket-file", ""), { words: [], files: true });
  t.same((await completed("agent", "")).words, []);
});

t.test("objects of the cluster, and arguments that are few", async (t) => {
  t.same((await completed("why", "cl")).words, ["clone"]);
  t.same((await completed("why", "clone/s")).words, ["clone/sample", "clone/second"]);
  t.same((await completed("rollout", "pause", "clone", "")).words, ["sample", "second"]);
  t.same((await completed("rollout", "pause", "clone", "second", "s")).words, ["sample"]);
  t.same((await completed("why", "nonsense/")).words, []);
  t.same((await completed("completion", "")).words, ["bash", "zsh", "fish", "kubectl"]);
  t.same((await completed("completion", "bash", "")).words, []);
  t.same((await completed("install", "")).words, []);
  t.same((await completed("why", "--nonsense", "clone/")).words, []);
  t.same(await completed("create", "bcj", "x", "--", ""), { words: [], files: true });
});

t.test("what kubectl does is left to it; without a cluster there is nothing to choose", async (t) => {
  const asked: unknown[] = [];
  const runProgram = async (name: string, argv: readonly string[]) => {
    asked.push([name, ...argv]);
    return 0;
  };
  await run(["__complete", "describe", "po"], { host: { runProgram } });
  t.same(asked, [["kubectl", "__complete", "describe", "po"]]);
  t.same(await run(["__complete", "why", "clone/"]), { code: 0, stdout: ":4\n", stderr: "" });
});
