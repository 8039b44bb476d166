/** What the page may ask for becomes command lines that the program understands, and nothing else is run. */
import { array, assert as check, constantFrom, integer, oneof, property, record } from "fast-check";
import t from "tap";
import { run } from "../../../testkit/cli/command_fixture.ts";
import { fakeCluster } from "../../../testkit/cli/fake_cluster.ts";
import { hostileTexts } from "../../../testkit/cli/page_items_builder.ts";
import { cloneSet } from "../../../testkit/cli/workload_builder.ts";
import { processHost } from "../../host.ts";
import { main } from "../../main.ts";
import { ResourceTypes } from "../../resource_types.ts";
import { type Action, actions, commandOf, isActionRequest, wordsOf } from "../shared/actions.ts";
import { listedKinds } from "../watching/fleet.ts";
import { Acting } from "./acting.ts";
import { actionsFor, actionTable } from "./action_table.ts";

const clusterWide = "SidecarSet";

const keyOf = (group: string, kind: string): string =>
  [`${kind.toLowerCase()}s.${group}`, ...(kind === clusterWide ? [] : ["default"]), "web"].join("/");

const amounts = oneof(
  integer({ min: 1, max: 50 }),
  integer({ min: 1, max: 100 }).map((part) => `${part}%`),
);
const counts = integer({ min: 0, max: 2 ** 31 - 1 });
const names = constantFrom("web", "a", "side-car", "x".repeat(63));

/** Members of every action but the workload. */
const members = {
  pause: record({}),
  resume: record({}),
  promote: record({ by: constantFrom("step", "to"), amount: amounts }),
  partition: record({ amount: amounts }),
  undo: record({ revision: counts }),
  scale: record({ replicas: counts }),
  recreate: record({
    pod: constantFrom("default/web-4xk2p", `default/${"p".repeat(199)}.-${"p".repeat(52)}`),
    containers: array(names, { maxLength: 4 }),
    number: counts,
  }),
} as const;

t.test("every action of every kind is a command line that the kind's command takes", async (t) => {
  const { client } = fakeCluster();
  for (const [group, kind] of listedKinds)
    for (const action of actionsFor({ group, kind })) {
      let last: unknown;
      check(
        property(members[action], (given) => {
          last = { action, workload: keyOf(group, kind), ...given };
          if (!isActionRequest(last)) return false;
          // No word needs quotes, and none that came from a name is taken for a flag.
          return wordsOf(last).every((word) => /^(--?[a-z-]+|[a-z0-9][\w./%,-]*)$/.test(word));
        }),
      );
      if (!isActionRequest(last)) throw new Error("no request was made");
      const { stdout, stderr } = await run(wordsOf(last), { client });
      // There is no object: what was understood asked for it, and a request for a pod's containers was made.
      t.match(`${stdout}${stderr}`, /^Error from server \(NotFound\)|created\n$/, commandOf(last));
    }
});

t.test("kinds have the actions that their commands know", async (t) => {
  const table = actionTable();
  const wanted: Readonly<Record<string, readonly Action[]>> = {
    "CloneSet.apps.kruise.io": actions,
    "SidecarSet.apps.kruise.io": ["pause", "resume", "promote", "partition", "undo", "recreate"],
    "UnitedDeployment.apps.kruise.io": ["promote", "undo", "scale", "recreate"],
    "Deployment.apps": ["pause", "resume", "undo", "scale", "recreate"],
    "DaemonSet.apps": ["undo", "recreate"],
    "BroadcastJob.apps.kruise.io": ["pause", "resume"],
    "Job.batch": [],
  };
  for (const [kind, fitting] of Object.entries(wanted)) t.strictSame(table[kind], fitting, kind);
});

t.test("the words name the type in full, and only what was asked for", (t) => {
  const workload = "clonesets.apps.kruise.io/shop/web";
  const lines: readonly (readonly [request: unknown, line: string])[] = [
    [{ action: "pause", workload }, "refit rollout pause clonesets.apps.kruise.io/web -n shop"],
    [
      { action: "promote", workload, by: "to", amount: 0 },
      "refit rollout promote clonesets.apps.kruise.io/web -n shop",
    ],
    [
      { action: "promote", workload, by: "step", amount: "20%" },
      "refit rollout promote clonesets.apps.kruise.io/web -n shop --step 20%",
    ],
    [
      { action: "partition", workload, amount: "80%" },
      "refit rollout partition clonesets.apps.kruise.io/web -n shop --to 80%",
    ],
    [
      { action: "undo", workload: "sidecarsets.apps.kruise.io/logs", revision: 3 },
      "refit rollout undo sidecarsets.apps.kruise.io/logs --to-revision 3",
    ],
    [
      { action: "scale", workload, replicas: 7 },
      "refit scale clonesets.apps.kruise.io/web -n shop --replicas 7",
    ],
    [
      { action: "recreate", workload, pod: "shop/web-1", containers: ["a", "b"], number: 35 },
      "refit create crr web-1-z -n shop --pod web-1 --containers a,b",
    ],
  ];
  for (const [request, line] of lines) t.equal(isActionRequest(request) && commandOf(request), line);
  t.end();
});

const workload = "clonesets.apps.kruise.io/default/web";
const call = { host: processHost(), runLine: main, io: { signal: new AbortController().signal } };

/** An Acting over a cluster with one CloneSet, and what it asked the server for. */
async function acting() {
  const cluster = fakeCluster();
  cluster.put("clonesets.apps.kruise.io", cloneSet("web", {}));
  const types = new ResourceTypes(cluster.client);
  const type = await types.find("clonesets.apps.kruise.io");
  const target = { type, ref: { namespace: "default", name: "web" } };
  const made = new Acting({
    access: { client: cluster.client, namespace: "default", types },
    call,
    targetOf: async (key) => (key === workload ? target : undefined),
    hasPod: async (_, pod) => pod === "default/web-1",
  });
  return { made, cluster, act: (request: unknown) => made.act(JSON.stringify(request)) };
}

t.test("what is no request of the page is refused before anything is run", async (t) => {
  const { made, cluster, act } = await acting();
  const before = cluster.calls.length;
  const pause = { action: "pause", workload };
  const recreate = { action: "recreate", workload, pod: "default/web-1", containers: [], number: 1 };
  const hostile = [
    ...hostileTexts,
    "--all",
    "-n",
    "a b",
    "a\nb",
    "$(id)",
    "`id`",
    "../x",
    "A",
    "",
    "x".repeat(300),
  ];
  const refused: readonly unknown[] = [
    ...["", null, [], [pause], "pause", 1, true, {}],
    ...hostile.map((action) => ({ ...pause, action })),
    ...["delete", "constructor", "toString", 1, null, ["pause"]].map((action) => ({ ...pause, action })),
    ...hostile.flatMap((name) => [
      { ...pause, workload: name },
      { ...pause, workload: `clonesets.apps.kruise.io/default/${name}` },
      { ...pause, workload: `${name}/default/web` },
      { ...recreate, pod: `default/${name}` },
      { ...recreate, containers: [name] },
    ]),
    { ...pause, workload: `${workload}/more` },
    { ...pause, force: true },
    { action: "pause" },
    { action: "scale", workload },
    ...[-1, 1.5, "3", null, 2 ** 31, [3]].map((replicas) => ({ action: "scale", workload, replicas })),
    ...["101%", "-1%", "1.5%", "20", "%", -1, {}].map((amount) => ({
      action: "promote",
      workload,
      by: "to",
      amount,
    })),
    { action: "promote", workload, by: "more", amount: 1 },
    { ...recreate, containers: Array.from({ length: 65 }, () => "web") },
  ];
  const bodies = ["", "{", `{"action":"pause","workload":"${workload}","__proto__":{}}`];
  for (const body of [...bodies, ...refused.map((request) => JSON.stringify(request))]) {
    const answer = await made.act(body);
    if (!("status" in answer) || answer.status !== 400) t.fail("it was taken", { body, answer });
  }
  t.match(await act({ ...pause, workload: "clonesets.apps.kruise.io/default/other" }), { status: 404 });
  t.match(await act({ ...recreate, pod: "default/of-others" }), { status: 404 });
  t.equal(cluster.calls.length, before, "the server was asked for nothing");
});

t.test("one action at a time is done to a workload, and the connection outlives it", async (t) => {
  const { act, cluster } = await acting();
  const [first, second] = await Promise.all([
    act({ action: "pause", workload }),
    act({ action: "resume", workload }),
  ]);
  t.strictSame(first, { code: 0, text: "cloneset.apps.kruise.io/web paused\n" });
  t.match(second, { status: 409, message: /another action on this workload has not ended/ });
  t.match(await act({ action: "resume", workload }), { code: 0 });
  t.equal(cluster.patches.length, 2);
});

t.test("what does not fit the kind is refused", async (t) => {
  const { cluster } = await acting();
  const types = new ResourceTypes(cluster.client);
  const target = { type: await types.find("jobs.batch"), ref: { namespace: "default", name: "web" } };
  const made = new Acting({
    access: { client: cluster.client, namespace: "default", types },
    call,
    targetOf: async () => target,
    hasPod: async () => true,
  });
  const asked = { action: "scale", workload: "jobs.batch/default/web", replicas: 1 };
  t.strictSame(await made.act(JSON.stringify(asked)), { status: 422, message: "scale does not fit a Job" });
});

t.test("a recording is not acted upon", async (t) => {
  const { code, stderr } = await run("ui rollout.html --allow-changes");
  t.equal(code, 1);
  t.equal(stderr, "error: --allow-changes needs a cluster: leave out the flag, or the file that is shown\n");
});
