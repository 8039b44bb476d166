import t from "tap";
import { run } from "../../testkit/cli/command_fixture.ts";
import { fakeCluster } from "../../testkit/cli/fake_cluster.ts";
import { golden } from "../../testkit/cli/golden.ts";
import { cloneSet, controllerRevision, imageOf, podTemplate } from "../../testkit/cli/workload_builder.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import type { FakeServer } from "../../testkit/kube/fake_server.ts";

function withHistory(): FakeServer {
  const cluster = fakeCluster();
  const sample = cloneSet("sample", { spec: { template: podTemplate("sample", "nginx:1.21") } });
  cluster.put("clonesets.apps.kruise.io", sample);
  cluster.put(
    "controllerrevisions.apps",
    controllerRevision(sample, "79c667d6cb", 1, "nginx:1.20", "first image"),
  );
  cluster.put(
    "controllerrevisions.apps",
    controllerRevision(sample, "68b8b897b7", 2, "nginx:1.21", "second image"),
  );
  return cluster;
}

const counters = (updated: number, ready: number) => ({
  status: { observedGeneration: 2, updatedReplicas: updated, updatedReadyReplicas: ready },
  metadata: { generation: 2 },
});

t.test("status prints each state once on a terminal, and ends when the rollout is done", async (t) => {
  const cluster = fakeCluster();
  cluster.put(
    "clonesets.apps.kruise.io",
    cloneSet("sample", { metadata: { generation: 2 }, status: { observedGeneration: 1 } }),
  );
  const clock = testClock();
  const running = run("rollout status cloneset/sample", {
    client: cluster.client,
    host: { clock },
    io: { isTTY: true },
  });
  for (const [updated, ready] of [
    [0, 0],
    [1, 0],
    [1, 1],
    [2, 1],
    [3, 2],
    [3, 3],
  ] as const) {
    await clock.settle();
    cluster.put("clonesets.apps.kruise.io", cloneSet("sample", counters(updated, ready)));
  }
  const { code, stdout, stderr } = await running;
  t.equal(code, 0);
  t.equal(stderr, "Waiting for 1 pod to be ready...\n");
  t.equal(stdout, golden("rollout_status.txt", stdout));
});

t.test("without a terminal status is a line every two seconds, and the end at once", async (t) => {
  const cluster = fakeCluster();
  const put = (updated: number, ready: number) =>
    cluster.put("clonesets.apps.kruise.io", cloneSet("sample", counters(updated, ready)));
  put(0, 0);
  const clock = testClock();
  const printed: string[] = [];
  const io = { stdout: { write: (text: string) => printed.push(text) } };
  const running = run("rollout status cloneset/sample", { client: cluster.client, host: { clock }, io });
  const waits = (updated: number) =>
    `Waiting for partitioned roll out to finish: ${updated} out of 3 new pods have been updated...\n`;
  await clock.settle();
  put(1, 0);
  await clock.advance(1999);
  t.same(printed, [waits(0)]);
  put(2, 0);
  await clock.advance(1);
  t.same(printed, [waits(0), waits(2)], "the newest state");
  await clock.advance(2000);
  t.same(printed, [waits(0), waits(2)], "no state twice");
  put(1, 1);
  await clock.settle();
  t.same(printed, [waits(0), waits(2), waits(1)], "after a while without a line at once");
  put(3, 2);
  await clock.settle();
  put(3, 3);
  t.equal((await running).code, 0);
  t.same(printed.slice(3), ["partitioned roll out complete: 3 new pods have been updated...\n"]);
});

t.test("status of a paused or partitioned CloneSet counts what the partition lets through", async (t) => {
  const cluster = fakeCluster();
  const spec = {
    updateStrategy: {
      type: "RollingUpdate",
      rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", partition: "99%" },
    },
  };
  const status = { updatedReplicas: 1, updatedReadyReplicas: 1 };
  cluster.put("clonesets.apps.kruise.io", cloneSet("part", { spec: { replicas: 4, ...spec }, status }));
  const { stdout } = await run("rollout status clone part", { client: cluster.client });
  t.equal(stdout, "partitioned roll out complete: 1 new pods have been updated...\n");
});

t.test("status of a recreating CloneSet names its revision", async (t) => {
  const cluster = fakeCluster();
  cluster.put(
    "clonesets.apps.kruise.io",
    cloneSet("sample", { spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate: {} } } }),
  );
  const { stdout } = await run("rollout status clone/sample", { client: cluster.client });
  t.equal(stdout, "CloneSet rolling update complete 3 pods at revision sample-79c667d6cb...\n");
});

t.test("status gives up after its timeout", async (t) => {
  const cluster = fakeCluster();
  cluster.put("clonesets.apps.kruise.io", cloneSet("sample", { status: { updatedReplicas: 1 } }));
  const clock = testClock();
  const running = run("rollout status clone/sample --timeout 2s", {
    client: cluster.client,
    host: { clock },
  });
  await clock.advance(2000);
  const { code, stderr } = await running;
  t.equal(code, 1);
  t.equal(stderr, "error: timed out waiting for the condition\n");
});

t.test("the last lines of status are wrapped on a terminal, without one they are whole", async (t) => {
  const cluster = fakeCluster();
  cluster.put("clonesets.apps.kruise.io", cloneSet("sample", { status: { updatedReplicas: 1 } }));
  const { client } = cluster;
  const last = async (isTTY: boolean) => {
    const clock = testClock();
    const line = "rollout status clone/sample --timeout 2s";
    const running = run(line, { client, host: { clock }, io: { isTTY, columns: 30 } });
    await clock.advance(2000);
    return running;
  };
  const cut = await last(true);
  t.equal(cut.stderr, "error: timed out waiting for\nthe condition\n");
  t.equal(cut.code, 1);
  t.match(cut.stdout, /\n/);
  for (const line of cut.stdout.split("\n")) t.ok(line.length <= 30, line);
  const whole = await last(false);
  t.equal(whole.stderr, "error: timed out waiting for the condition\n");
  t.equal(whole.stdout.split("\n").length, 2, whole.stdout);
});

t.test("with -o status prints one object in the end, with a reason and the usual exit code", async (t) => {
  const cluster = fakeCluster();
  const clones = "clonesets.apps.kruise.io";
  const { client } = cluster;
  cluster.put(clones, cloneSet("whole"));
  cluster.put(clones, cloneSet("half", { status: { updatedReplicas: 1 } }));
  const answer = async (line: string, ended?: (clock: ReturnType<typeof testClock>) => Promise<unknown>) => {
    const clock = testClock();
    const running = run(`rollout status ${line}`, { client, host: { clock } });
    await ended?.(clock);
    const { code, stdout, stderr } = await running;
    return { code, stderr, answer: JSON.parse(stdout) };
  };
  t.match(await answer("clone/whole -o json --detail"), {
    code: 0,
    stderr: "",
    answer: {
      object: { group: "apps.kruise.io", kind: "CloneSet", namespace: "default", name: "whole" },
      state: "done",
      reason: "Complete",
      updatedPods: { ready: [], notReady: [] },
    },
  });
  t.match(await answer("clone/half -o json -w=false"), {
    code: 0,
    answer: { state: "progressing", reason: "Progressing", message: /1 out of 3/ },
  });
  t.match(await answer("clone/half -o json --timeout 2s", (clock) => clock.advance(2000)), {
    code: 1,
    stderr: /^error: timed out/,
    answer: { state: "progressing", reason: "TimedOut", error: /^timed out/ },
  });
  const removed = await answer("clone/half -o json", async (clock) => {
    await clock.settle();
    cluster.remove(clones, "default/half");
  });
  t.match(removed, { code: 1, answer: { state: "failed", reason: "Deleted" } });
  t.match(await run("rollout status clone/whole -o name", { client }), {
    code: 1,
    stderr: /must be json or yaml/,
  });
});

t.test("status ends with an error when the object is deleted or another revision takes over", async (t) => {
  const cluster = withHistory();
  cluster.put("clonesets.apps.kruise.io", cloneSet("other", { status: { updatedReplicas: 1 } }));
  const clock = testClock();
  const running = run("rollout status clone/other", { client: cluster.client, host: { clock } });
  await clock.settle();
  cluster.remove("clonesets.apps.kruise.io", "default/other");
  t.match(await running, { code: 1, stderr: "error: cloneset.apps.kruise.io/other was deleted\n" });
  const pinned = await run("rollout status clone/sample --revision 2", { client: cluster.client });
  t.equal(pinned.stderr, "error: desired revision (2) is different from the running revision (1)\n");
});

t.test("history lists revisions and shows the template of one", async (t) => {
  const client = withHistory().client;
  const list = await run("rollout history cloneset/sample", { client });
  t.equal(list.stdout, golden("rollout_history.txt", list.stdout));
  const one = await run("rollout history cloneset/sample --revision=1", { client });
  t.equal(one.stdout, golden("rollout_history_revision.txt", one.stdout));
  const none = await run("rollout history cloneset/sample --revision=9", { client });
  t.match(none, { code: 1, stderr: "error: unable to find specified revision 9 in history\n" });
});

t.test("undo puts the former template back, against the version it read", async (t) => {
  const cluster = withHistory();
  const undone = await run("rollout undo clone/sample", { client: cluster.client });
  t.match(undone, { code: 0, stdout: "cloneset.apps.kruise.io/sample rolled back\n" });
  t.equal(imageOf(cluster.read("clonesets.apps.kruise.io", "default/sample")), "nginx:1.20");
  const patch = cluster.patches.at(-1)?.patch;
  t.match(patch, {
    type: "json",
    body: [{ path: "/metadata/resourceVersion" }, { op: "replace", path: "/spec/template" }],
  });
  const again = await run("rollout undo clone/sample --to-revision=1", { client: cluster.client });
  t.equal(
    again.stdout,
    "cloneset.apps.kruise.io/sample skipped rollback (current template already matches revision 1)\n",
  );
  const missing = await run("rollout undo clone/sample --to-revision=7", { client: cluster.client });
  t.equal(missing.stderr, "error: unable to find specified revision 7 in history\n");
  t.equal(cluster.patches.length, 1);
});

t.test("undo without a former revision is refused", async (t) => {
  const cluster = fakeCluster();
  const lonely = cloneSet("lonely");
  cluster.put("clonesets.apps.kruise.io", lonely);
  cluster.put("controllerrevisions.apps", controllerRevision(lonely, "abc", 1, "nginx:1.20"));
  t.equal(
    (await run("rollout undo clone/lonely", { client: cluster.client })).stderr,
    "error: no last revision to roll back to\n",
  );
});

t.test("pause and resume write where the version keeps it, once", async (t) => {
  const cluster = withHistory();
  const client = cluster.client;
  t.equal(
    (await run("rollout pause clone/sample", { client })).stdout,
    "cloneset.apps.kruise.io/sample paused\n",
  );
  t.match(await run("rollout pause clone/sample", { client }), {
    code: 1,
    stderr: 'error: clonesets.apps.kruise.io "sample" is already paused\n',
  });
  t.equal(
    (await run("rollout resume clone/sample", { client })).stdout,
    "cloneset.apps.kruise.io/sample resumed\n",
  );
  t.match((await run("rollout resume clone/sample", { client })).stderr, /is not paused\n$/);
  t.match(cluster.patches[0]?.patch, {
    body: [{}, { path: "/spec/updateStrategy/rollingUpdate/paused", value: true }],
  });
});

t.test("StatefulSets and jobs with a paused field are paused, other kinds are refused", async (t) => {
  const cluster = fakeCluster();
  const { client } = cluster;
  const apiVersion = "apps.kruise.io/v1beta1";
  const metadata = { name: "web", namespace: "default" };
  const kinds: [string, string][] = [
    ["statefulset", "/spec/updateStrategy"],
    ["broadcastjob", "/spec/paused"],
    ["advancedcronjob", "/spec/paused"],
    ["ephemeraljob", "/spec/paused"],
  ];
  for (const [kind, path] of kinds) {
    cluster.put(`${kind}s.apps.kruise.io`, { apiVersion, metadata, spec: {} });
    const paused = await run(`rollout pause ${kind}.apps.kruise.io/web`, { client });
    t.match(paused, { code: 0, stdout: `${kind}.apps.kruise.io/web paused\n` });
    t.match(cluster.patches.at(-1)?.patch, { body: [{}, { path }] });
    t.equal((await run(`rollout resume ${kind}.apps.kruise.io/web`, { client })).code, 0);
  }
  t.match(await run("rollout pause statefulset.apps/web", { client }), {
    code: 1,
    stderr: 'error: statefulsets.apps "web" pausing is not supported: the kind has no field that pauses it\n',
  });
});

t.test("restart sets RESTARTED_AT in every container and keeps other variables", async (t) => {
  const cluster = fakeCluster();
  const containers = [
    {
      name: "a",
      image: "a:1",
      env: [
        { name: "KEPT", value: "1" },
        { name: "RESTARTED_AT", value: "old" },
      ],
    },
    { name: "b", image: "b:1" },
  ];
  cluster.put(
    "clonesets.apps.kruise.io",
    cloneSet("sample", { spec: { template: { spec: { containers } } } }),
  );
  const { stdout } = await run("rollout restart clone/sample", { client: cluster.client });
  t.equal(stdout, "cloneset.apps.kruise.io/sample restarted\n");
  const variable = { name: "RESTARTED_AT", value: "2026-01-01T00:00:00Z" };
  t.same(cluster.read("clonesets.apps.kruise.io", "default/sample")["spec"], {
    ...(cloneSet("sample")["spec"] as object),
    template: {
      spec: {
        containers: [
          { name: "a", image: "a:1", env: [{ name: "KEPT", value: "1" }, variable] },
          { name: "b", image: "b:1", env: [variable] },
        ],
      },
    },
  });
});

t.test("a missing object says where its namesake is", async (t) => {
  const cluster = fakeCluster();
  cluster.put("statefulsets.apps.kruise.io", { ...cloneSet("web"), kind: "StatefulSet" });
  const { stderr } = await run("rollout status sts/web", { client: cluster.client });
  t.equal(stderr, 'error: statefulsets.apps "web" not found; there is statefulset.apps.kruise.io/web\n');
});

t.test("the cause of a change stays with its revision", async (t) => {
  const causes = "kubernetes.io/change-cause";
  const cluster = withHistory();
  const clones = "clonesets.apps.kruise.io";
  const read = () => cluster.read(clones, "default/sample");
  const { client } = cluster;
  await run("rollout restart clone/sample", { client });
  t.equal(read()?.metadata.annotations?.[causes], undefined, "who names no causes gets none");
  const template = podTemplate("sample", "nginx:1.21");
  const metadata = { annotations: { [causes]: "second image" } };
  cluster.put(clones, cloneSet("sample", { metadata, spec: { template } }));
  await run("set image clone/sample nginx=nginx:1.22", { client });
  t.equal(read()?.metadata.annotations?.[causes], "refit set image clone/sample nginx=nginx:1.22");
  await run("set image clone/sample nginx=nginx:1.22 --dry-run", { client });
  await run("rollout undo clone/sample --to-revision 1", { client });
  t.equal(read()?.metadata.annotations?.[causes], "first image");
  await run("rollout restart clone/sample -n default", { client });
  t.equal(read()?.metadata.annotations?.[causes], "refit rollout restart clone/sample -n default");
});
