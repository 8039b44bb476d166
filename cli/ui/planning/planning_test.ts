/** What a page is told of plans, and which manifests are turned away. */
import { setImmediate } from "node:timers/promises";
import t from "tap";
import { KubeError, seededRandom } from "../../../kube/index.ts";
import { clusterOfOldPods } from "../../../testkit/cli/old_pods.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import type { FakeServer } from "../../../testkit/kube/fake_server.ts";
import { fieldsAt } from "../../fields.ts";
import { ResourceTypes } from "../../resource_types.ts";
import type { Target } from "../../target.ts";
import { plannerOf } from "../../why/planners.ts";
import { isPlannedKind, isPlanRequest, type PlanAnswer, planCommand } from "../shared/plans.ts";
import { listedKinds } from "../watching/fleet.ts";
import { Planning } from "./planning.ts";

const workload = "clonesets.apps.kruise.io/default/sample";

function planningOf({ client }: Pick<FakeServer, "client">): Planning {
  const types = new ResourceTypes(client);
  const targetOf = async (key: string): Promise<Target | undefined> =>
    key === workload
      ? { type: await types.find("clone"), ref: { namespace: "default", name: "sample" } }
      : undefined;
  const host = { clock: testClock(), random: seededRandom(1) };
  return new Planning({ access: { client, namespace: "elsewhere", types }, host, targetOf });
}

async function answered(planning: Planning, request: object): Promise<PlanAnswer> {
  const answer = await planning.plan(JSON.stringify(request));
  if ("summary" in answer) return answer;
  throw new Error(JSON.stringify(answer));
}

async function refused(planning: Planning, manifest: string): Promise<string> {
  const answer = await planning.plan(JSON.stringify({ workload, manifest }));
  if ("refusal" in answer) return answer.refusal;
  throw new Error(JSON.stringify(answer));
}

const yaml = (spec: string): string =>
  `apiVersion: apps.kruise.io/v1beta1\nkind: CloneSet\nmetadata: {name: sample}\nspec: ${spec}\n`;

const pods = `selector: {matchLabels: {app: sample}}, template: {metadata: {labels: {app: sample}}, spec: {containers: [{name: nginx, image: "nginx:1.21"}]}}`;

t.test("a workload as it is", async (t) => {
  const fake = clusterOfOldPods({});
  const plan = await answered(planningOf(fake), { workload });
  t.match(plan, {
    summary: /^3 of 3 pods, 0 at revision sample-\w+, 3 available$/,
    pods: [{ way: "in place", namespace: "default", name: "sample-a", text: /nginx:1.20 -> nginx:1.21/ }],
    steps: [/^create revision sample-/],
    reasons: [{ code: "Budget", outlook: "held", text: /^2 pods wait/ }],
  });
  t.equal(plan.pods.length, 1);
  t.strictSame(plan.about, [], "the budget is about the pod that is taken out");
  t.equal(plan.requests, 3, "two of the pod, and the revision");
  t.match(plan.summary, plan.revision);
  t.equal(fake.patches.length, 0, "nothing is written");
});

t.test("a workload that a setting holds back", async (t) => {
  const plan = await answered(planningOf(clusterOfOldPods({ partition: 3 })), { workload });
  t.strictSame(plan.pods, []);
  t.strictSame(plan.about, [["Partition", ["default/sample-a", "default/sample-b", "default/sample-c"]]]);
  t.match(plan.reasons, [{ code: "Partition", command: /^refit rollout promote/ }]);
});

t.test("a workload with a manifest, as YAML and as JSON", async (t) => {
  const fake = clusterOfOldPods({});
  const planning = planningOf(fake);
  const more = await answered(planning, { workload, manifest: yaml(`{replicas: 5, ${pods}}`) });
  t.strictSame(
    more.pods.map(({ way }) => way),
    ["new", "new"],
  );
  t.match(more.summary, /^3 of 5 pods/);
  const stored = fake.read("clonesets.apps.kruise.io", "default/sample");
  const manifest = JSON.stringify({ ...stored, spec: { ...fieldsAt(stored, "spec"), replicas: 1 } });
  const fewer = await answered(planning, { workload, manifest });
  t.strictSame(
    fewer.pods.map(({ way }) => way),
    ["deleted", "deleted"],
  );
});

t.test("what the server or the schema refuses is said in their words", async (t) => {
  const fake = clusterOfOldPods({});
  const planning = planningOf(fake);
  t.equal(
    await refused(planning, yaml(`{replica: 5, ${pods}}`)),
    `the manifest: CloneSet sample: unknown field "spec.replica" (did you mean "replicas"?)`,
  );
  t.match(await refused(planning, yaml(`{replicas: many, ${pods}}`)), /spec.replicas/);
  const forbidden = new KubeError("Forbidden", 'pods is forbidden: User "jane" cannot list resource "pods"');
  const list = () => Promise.reject(forbidden);
  const hers = planningOf({ client: { ...fake.client, list } });
  t.match(await hers.plan(JSON.stringify({ workload })), {
    refusal: /User "jane" cannot list resource "pods"/,
  });
  t.match(await planning.plan(JSON.stringify({ workload: "clonesets.apps.kruise.io/default/other" })), {
    status: 404,
  });
});

/** Each ends with one line, and soon: what is long to read is not read. */
const hostile: Readonly<Record<string, readonly [manifest: string, message: RegExp]>> = {
  nothing: ["", /no objects in it/],
  "no object": ["just words", /not an object with apiVersion/],
  "a null": ["null", /no objects in it/],
  "numbers for names": [yaml("{}").replace("sample", "{a: b}"), /metadata.name must be/],
  "a path for a name": [yaml("{}").replace("sample", "../../secrets/x"), /metadata.name must be/],
  "a namespace of another form": [
    yaml("{}").replace("sample", "sample, namespace: [a]"),
    /metadata.namespace/,
  ],
  "labels of another form": [yaml("{}").replace("sample", "sample, labels: {a: 1}"), /metadata.labels must/],
  "an apiVersion of another form": [
    yaml("{}").replace("apps.kruise.io/v1beta1", "[1]"),
    /apiVersion and kind/,
  ],
  "no spec": [yaml("3"), /needs a spec|spec/],
  "another kind": [
    "apiVersion: v1\nkind: Secret\nmetadata: {name: sample}",
    /: Secret sample cannot be planned before it is applied; what can: CloneSet/,
  ],
  "many documents": [`${yaml("{}")}---\n`.repeat(51), /holds 51 objects, and 50 are the most/],
  "a list": ["kind: List\nitems: []", /no object/],
  __proto__: [
    `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"name":"sample"},"spec":{"template":{"__proto__":{"a":1}}}}`,
    /member "__proto__"/,
  ],
  "__proto__ in YAML": [yaml("{template: {__proto__: {a: 1}}}"), /member "__proto__"/],
  "aliases without end": [
    `${yaml("{}")}a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]`,
    /[Aa]lias/,
  ],
  "deep JSON": [
    `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"name":"sample"},"spec":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
    /nested more than 64 deep/,
  ],
  "deep YAML": [yaml("[".repeat(9_000)), /the manifest/],
  "many keys": [
    yaml(`{${Array.from({ length: 60_000 }, (_, index) => `k${index}: 1`).join(", ")}}`),
    /too long for YAML/,
  ],
  "many comments": ["#\n".repeat(500_000), /too long for YAML/],
  "a tab": ["\t", /the manifest/],
  "a tag": [yaml("!!js/function 'function () {}'"), /the manifest|needs a spec/],
  "a billion pods": [yaml(`{replicas: 1000000000, ${pods}}`), /at most 2000 new pods/],
  "a billion pods more": [
    yaml(`{updateStrategy: {rollingUpdate: {maxSurge: 1000000000}}, ${pods}}`),
    /at most 2000 new pods/,
  ],
  "many containers in many pods": [
    JSON.stringify({
      apiVersion: "apps.kruise.io/v1beta1",
      kind: "CloneSet",
      metadata: { name: "sample" },
      spec: {
        replicas: 1_000,
        selector: { matchLabels: { app: "sample" } },
        template: {
          spec: { containers: Array.from({ length: 10_000 }, (_, index) => ({ name: `c${index}` })) },
        },
      },
    }),
    /too long for so many new pods/,
  ],
  "lines and signs": ["\u0000\u001b[2J\n\u2028: @", /the manifest/],
};

for (const [what, [manifest, message]] of Object.entries(hostile))
  t.test(`a manifest with ${what}`, async (t) => {
    const fake = clusterOfOldPods({});
    const refusal = await refused(planningOf(fake), manifest);
    t.match(refusal, message);
    t.notMatch(refusal, /[\n\p{C}]|\bat \S+:\d+/u, "one line, and no stack");
    t.ok(refusal.length <= 1_000);
    t.equal(Object.getOwnPropertyDescriptor(Object.prototype, "a"), undefined);
    t.equal(fake.patches.length, 0);
  });

const ofAnything = (planning: Planning, manifest: string) => planning.plan(JSON.stringify({ manifest }));

t.test("a manifest is planned for what it names, wherever it was given", async (t) => {
  const planning = planningOf(clusterOfOldPods({}));
  const manifest = yaml(`{replicas: 2, ${pods}}`);
  const other = manifest.replace("sample}", "other}");
  t.match(await answered(planning, { workload, manifest: other }), {
    of: {
      key: "clonesets.apps.kruise.io/default/other",
      words: "CloneSet other in default",
      namespace: "default",
      isStored: false,
      isListed: false,
    },
    pods: [{ way: "new" }, { way: "new" }],
  });
  t.match(await answered(planning, { workload, manifest }), {
    of: { key: workload, isStored: true, isListed: true },
  });
  t.match(
    await answered(planning, { manifest }),
    { of: { words: "CloneSet sample in elsewhere", isStored: false } },
    "without a workload, the namespace is that of the command line",
  );
  const placed = manifest.replace("sample}", "sample, namespace: default}");
  t.match(await answered(planning, { manifest: placed }), {
    of: { key: workload, isStored: true, isListed: true },
  });
  t.match(await ofAnything(planning, "kind: [a"), { refusal: /^the manifest, document 1: / });
  t.match(await ofAnything(planning, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}"), {
    refusal: /^the manifest: Deployment a cannot be planned before it is applied; what can: CloneSet/,
  });
});

t.test("of several objects, the one with a plan is planned, or one is chosen", async (t) => {
  const planning = planningOf(clusterOfOldPods({}));
  const one = yaml(`{replicas: 2, ${pods}}`);
  const service = "apiVersion: v1\nkind: Service\nmetadata: {name: sample}\n";
  const plan = await answered(planning, { workload, manifest: `${service}---\n${one}` });
  t.match(plan, { of: { key: workload }, notices: [/^the manifest holds 1 more object, not planned here$/] });
  const services = await planning.plan(JSON.stringify({ workload, manifest: `${service}---\n${service}` }));
  t.match(services, { refusal: /^the manifest: none of its 2 objects can be planned/ });
  const manifest = [service, one, one.replace("sample}", "other, namespace: shop}")].join("---\n");
  t.strictSame(await planning.plan(JSON.stringify({ workload, manifest })), {
    choices: [
      [1, "CloneSet sample"],
      [2, "CloneSet other in shop"],
    ],
  });
  t.match(await answered(planning, { workload, manifest, at: 2 }), {
    of: { words: "CloneSet other in shop" },
  });
  for (const [at, refusal] of [
    [0, /Service sample cannot be planned before/],
    [3, /there is no such object in it/],
  ] as const)
    t.match(await planning.plan(JSON.stringify({ workload, manifest, at })), { refusal });
});

t.test("requests of another form are turned away", async (t) => {
  const planning = planningOf(clusterOfOldPods({}));
  const bodies = [
    "",
    "[]",
    "null",
    "{",
    `{"workload":1}`,
    `{"workload":"a","manifest":{}}`,
    `{"workload":"a","more":1}`,
    "{}",
    `{"workload":"a","at":0}`,
    `{"manifest":"a","at":-1}`,
    `{"manifest":"a","at":"0"}`,
  ];
  for (const body of bodies) t.match(await planning.plan(body), { status: 400 }, body);
  t.notOk(isPlanRequest(JSON.parse(`{"workload":"a","__proto__":{}}`)));
});

t.test("two plans are made at a time", async (t) => {
  const fake = clusterOfOldPods({});
  const gate = Promise.withResolvers<void>();
  const get: typeof fake.client.get = async (resource, ref, options) => {
    await gate.promise;
    return fake.client.get(resource, ref, options);
  };
  const planning = planningOf({ client: { ...fake.client, get } });
  const body = JSON.stringify({ workload });
  const running = [planning.plan(body), planning.plan(body)];
  await setImmediate();
  t.match(await planning.plan(body), { status: 503, message: /ask again/ });
  gate.resolve();
  for (const answer of await Promise.all(running)) t.notMatch(answer, { status: 503 });
  t.match(await planning.plan(body), { summary: /3 of 3 pods/ });
});

t.test("the page asks about the kinds that are planned, and about no others", async (t) => {
  for (const [group, kind] of listedKinds)
    t.equal(isPlannedKind({ group }), plannerOf({ group, kind }) !== undefined, `${kind}.${group}`);
});

t.test("the command is one that can be pasted", async (t) => {
  const shown = { word: "clone/sample -n default", namespace: "default" };
  t.equal(planCommand(shown, undefined), "refit plan clone/sample -n default");
  t.equal(planCommand(shown, "web.yaml"), "refit plan -f web.yaml -n default");
  for (const file of ["", "-", "a b.yaml", "$(rm x).yaml", "a;b", "'"])
    t.equal(planCommand(shown, file), "refit plan -f FILE -n default", file);
});
