import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import t from "tap";
import { objectsIn } from "../../testkit/cli/chart_model.ts";
import { run } from "../../testkit/cli/command_fixture.ts";
import { readChart } from "../../testkit/cli/fake_helm.ts";
import { listAt, textAt } from "../fields.ts";
import { processHost } from "../host.ts";

const host = processHost();
const chart = readChart(join(import.meta.dirname, "../../bundles/chart"));

t.test("up --once: a cluster, a controller, a rollout in place, and nothing left behind", async (t) => {
  const kubeconfig = join(t.testdir(), "kubeconfig");
  const line = `up --once --timing fast --pods 8 --nodes 3 --seed 7 --kubeconfig-out ${kubeconfig}`;
  const { code, stdout, stderr } = await run(line, { host });
  t.equal(stderr, "");
  t.equal(code, 0);
  t.match(
    stdout,
    /^Starting a cluster in this process\.\nSandbox at https:\/\/127\.0\.0\.1:\d+, 3 nodes, seed 7\n/,
  );
  t.match(stdout, /\nupdating: 8\/8\n/);
  t.match(stdout, /names 8\/8 {3}UIDs 8\/8 {3}nodes 8\/8 {3}IPs 8\/8\n {2}restarts: each container once\n$/);
  t.notOk(existsSync(kubeconfig));
  const server = /Sandbox at (\S+),/.exec(stdout)?.[1] ?? "";
  t.equal(await fetch(server).catch(() => "stopped"), "stopped");
});

t.test("two in one folder do not meet; gates and version are those that were asked for", async (t) => {
  const kubeconfig = join(t.testdir(), "kubeconfig");
  const stopping = new AbortController();
  const lines: string[] = [];
  const isUp = Promise.withResolvers<void>();
  const write = (text: string): void => {
    lines.push(text);
    if (text.includes("Ctrl-C")) isUp.resolve();
  };
  const io = { stdout: { write }, signal: stopping.signal };
  const flags = "--timing fast --pods 2 --nodes 1 --seed 5";
  const line = `up ${flags} --kubernetes-version 1.32 --feature-gates ResourceDistributionGate=false --kubeconfig-out ${kubeconfig}`;
  const running = run(line, { host, io }).finally(() => isUp.reject(new Error(lines.join(""))));
  isUp.promise.catch(() => undefined);
  await isUp.promise;
  const written = readFileSync(kubeconfig, "utf8");
  t.equal(statSync(kubeconfig).mode & 0o777, 0o600);
  const second = await run(`up --once ${flags} --kubeconfig-out ${kubeconfig}`, { host });
  t.match(second, { code: 1, stderr: "is the kubeconfig of a sandbox that runs (process" });
  t.equal(readFileSync(kubeconfig, "utf8"), written);
  const refit = async (words: string) => run(`${words} --kubeconfig ${kubeconfig}`, { host });
  t.match((await refit("version")).stdout, "server v1.32.0-sandbox");
  t.match((await refit("get node node1 -o yaml")).stdout, "kubeletVersion: v1.32.0");
  stopping.abort();
  t.equal((await running).code, 0);
  t.notOk(existsSync(kubeconfig));
});

t.test("up stays until Ctrl-C; meanwhile every command works on it; install and uninstall too", async (t) => {
  const kubeconfig = join(t.testdir(), "kubeconfig");
  const stopping = new AbortController();
  const lines: string[] = [];
  const isUp = Promise.withResolvers<void>();
  const write = (text: string): void => {
    lines.push(text);
    if (text.includes("Ctrl-C")) isUp.resolve();
  };
  const io = { stdout: { write }, signal: stopping.signal };
  const line = `up --timing fast --pods 4 --nodes 2 --seed 3 --kubeconfig-out ${kubeconfig}`;
  const running = run(line, { host, io }).finally(() => isUp.reject(new Error(lines.join(""))));
  isUp.promise.catch(() => undefined);
  await isUp.promise;
  const refit = async (words: string) => run(`${words} --kubeconfig ${kubeconfig}`, { host });
  t.match((await refit("get clone/demo")).stdout, /^NAME +DESIRED +UPDATED.*\ndemo +4 +4/);
  const watching = new AbortController();
  const rows: string[] = [];
  const seen = (text: string): void => {
    rows.push(text);
    if (rows.length === 3) watching.abort();
  };
  const watched = run(`get clone/demo -w --kubeconfig ${kubeconfig}`, {
    host,
    io: { stdout: { write: seen }, signal: watching.signal },
  });
  // The first row is there before the change that brings the second.
  while (rows.length < 2) await host.clock.sleep(20);
  t.match(await refit("rollout pause clone/demo"), { code: 0 });
  t.match(await watched, { code: 130, stderr: "" });
  t.match(rows, [/^NAME +DESIRED +UPDATED/, /^demo +4 +4 /, /^demo +4 /]);
  t.match(await refit("rollout resume clone/demo"), { code: 0 });
  t.match(
    (await refit("rollout history clone/demo")).stdout,
    /1 +nginx:1.20 +nginx:1.20\n2 +nginx:1.21 +nginx:1.21/,
  );
  t.match((await refit("rollout undo clone/demo")).stdout, /rolled back/);
  t.match((await refit("rollout status clone/demo")).stdout, /roll out complete: 4 new pods/);
  t.match((await refit("rollout restart clone/demo")).stdout, /restarted/);
  t.match((await refit("rollout status clone/demo")).stdout, /roll out complete: 4 new pods/);
  const pods = (await refit("get pods -l app=demo -o name")).stdout.trimEnd().split("\n");
  const [first = ""] = pods.map((pod) => pod.replace("pod/", ""));
  t.match(await refit(`scaledown clone/demo --pods ${first}`), { code: 0 });
  t.match(
    (await refit(`get pods ${first}`)).stderr + (await refit("tree clone/demo")).stdout,
    /ControllerRevision/,
  );
  t.match(await refit("rollout pause clone/demo"), { code: 0 });
  t.match(await refit("set image clone/demo web=nginx:9"), { code: 0 });
  t.match((await refit("why clone/demo")).stdout, /Paused/);
  t.match((await refit("uninstall")).stderr, /there still exists some clonesets/);
  const again = await refit("install --webhook-host 127.0.0.1");
  t.equal(again.stderr, "");
  t.match(again.stdout, /definitions established/);
  stopping.abort();
  const { code, stderr } = await running;
  t.equal(stderr, "");
  t.equal(code, 0);
  t.equal(lines.at(-1), "Stopping.\n");
});

t.test(
  "the chart's check before an uninstallation is really made: it fails while workloads are left",
  async (t) => {
    const kubeconfig = join(t.testdir(), "kubeconfig");
    const stopping = new AbortController();
    t.teardown(() => stopping.abort());
    const isUp = Promise.withResolvers<void>();
    const write = (text: string): void => {
      if (text.includes("Ctrl-C")) isUp.resolve();
    };
    const io = { stdout: { write }, signal: stopping.signal };
    const running = run(`up --timing fast --pods 2 --nodes 1 --seed 6 --kubeconfig-out ${kubeconfig}`, {
      host,
      io,
    });
    await isUp.promise;
    const { client } = await host.connect({
      kubeconfig,
      context: undefined,
      timeoutMs: undefined,
      userAgent: "test",
      env: {},
    });
    t.teardown(() => client.close());
    const rendered = objectsIn(chart.render(chart.valuesWith({})));
    const hook = Object.values(rendered).find(({ kind }) => kind === "Job");
    const jobs = "/apis/batch/v1/namespaces/default/jobs";
    const outcome = async (name: string): Promise<unknown> => {
      const spec = hook?.["spec"];
      await client.request("POST", jobs, {
        ...hook,
        metadata: { name },
        spec: JSON.parse(JSON.stringify(spec).replace("kruise-helm-hook", "default")),
      });
      for (;;) {
        const job = await client.request("GET", `${jobs}/${name}`);
        const ended = listAt(job, "status", "conditions").find((condition) =>
          ["Complete", "Failed"].includes(textAt(condition, "type") ?? ""),
        );
        if (ended !== undefined) return textAt(ended, "type");
        await host.clock.sleep(50);
      }
    };
    t.equal(await outcome("in-use"), "Failed");
    t.match(await run(`logs job/in-use --kubeconfig ${kubeconfig}`, { host }), { code: 0 });
    const answer = await client.request(
      "GET",
      "/api/v1/namespaces/default/pods?labelSelector=job-name%3Din-use",
    );
    const [checked] = listAt(answer, "items");
    const log = textAt(checked, "metadata", "annotations", "check.sandbox.refit.dev/log") ?? "";
    t.match(log, /^there still exists some clonesets in the cluster/);
    t.ok(log.length <= 256, "what is longer is not understood");
    await client.request("DELETE", "/apis/apps.kruise.io/v1beta1/namespaces/default/clonesets/demo");
    while ((await run(`uninstall --check --kubeconfig ${kubeconfig}`, { host })).code !== 0)
      await host.clock.sleep(50);
    t.equal(await outcome("clean"), "Complete");
    stopping.abort();
    t.equal((await running).code, 0);
  },
);

t.test("what cannot start says why in one line", async (t) => {
  const folder = t.testdir({ file: "" });
  const unwritable = await run(`up --once --kubeconfig-out ${join(folder, "file", "x")}`, { host });
  t.match(unwritable, { code: 1, stderr: /^error: cannot write .*a file is in the way.*\n$/ });
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const kubeconfig = join(folder, "kubeconfig");
  const taken = await run(`up --once --port ${port} --kubeconfig-out ${kubeconfig}`, { host });
  t.equal(
    taken.stderr,
    `error: cannot listen on 127.0.0.1:${port}: the port is taken; choose another with --port\n`,
  );
  t.equal(taken.code, 1);
  t.notOk(existsSync(kubeconfig));
  const up = (flags: string) => run(`up --once --kubeconfig-out ${kubeconfig} ${flags}`, { host });
  t.match(await up("--pods 600 --nodes 5"), {
    code: 1,
    stderr: "error: 600 pods do not fit on 5 nodes of 110 pods each: --nodes must be 6 or more\n",
  });
  t.match(await up("--feature-gates Nothing=true"), { code: 1, stderr: /--feature-gates: .*Nothing/ });
  t.match(await up("--kubernetes-version latest"), { code: 1, stderr: /must be like 1\.34/ });
  t.notOk(existsSync(kubeconfig));
});
