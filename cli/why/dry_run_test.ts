/** What `plan` says of kinds that have no words of their own: the effects of their reconcilers, and nothing is written. */
import t from "tap";
import { kinds } from "../../crds/index.ts";
import { run } from "../../testkit/cli/command_fixture.ts";
import { fakeCluster } from "../../testkit/cli/fake_cluster.ts";
import { toAnyObject } from "../fields.ts";
import { describeEffect } from "./describe_effects.ts";
import { dryRunPlanner } from "./dry_run.ts";

const metadata = (name: string, more: object = {}) => ({
  name,
  namespace: "default",
  uid: `uid-${name}`,
  resourceVersion: "1",
  generation: 1,
  creationTimestamp: "2026-01-01T00:00:00Z",
  ...more,
});
const kruise = (kind: string, object: object) =>
  toAnyObject({ apiVersion: "apps.kruise.io/v1beta1", kind, ...object });
const pod = (name: string, labels: object, more: object = {}) =>
  toAnyObject({
    apiVersion: "v1",
    kind: "Pod",
    metadata: metadata(name, { labels, ...more }),
    spec: { nodeName: "node1", containers: [{ name: "web", image: "web:1" }] },
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  });

t.test("every kind has a plan", async (t) => {
  for (const { group, kind } of kinds) t.not(dryRunPlanner({ group, kind }), undefined, kind);
  t.equal(dryRunPlanner({ group: "", kind: "ConfigMap" }), undefined);
});

t.test("jobs that are to be made, and the status, but not for an impostor's job", async (t) => {
  const fake = fakeCluster();
  const spec = { images: ["a:1", "b:1"], completionPolicy: { type: "Always" } };
  fake.put(
    "imagelistpulljobs.apps.kruise.io",
    kruise("ImageListPullJob", { metadata: metadata("warm"), spec }),
  );
  const owner = {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ImageListPullJob",
    name: "warm",
    controller: true,
  };
  const ofBefore = metadata("warm-before", { ownerReferences: [{ ...owner, uid: "uid-of-the-former" }] });
  fake.put(
    "imagepulljobs.apps.kruise.io",
    kruise("ImagePullJob", { metadata: ofBefore, spec: { image: "a:1" } }),
  );
  const { client } = fake;
  const withoutGate = await run("plan imagelistpulljob/warm", { client });
  t.match(withoutGate.stdout, /no controller has it, because its feature gate is off\nNothing to do/);
  const command = "plan imagelistpulljob/warm --feature-gates ImagePullJobGate=true";
  const { stdout, stderr } = await run(command, { client });
  t.equal(stderr, "");
  t.match(stdout, /create ImagePullJob warm-\w{5}\n.*create ImagePullJob warm-\w{5}\n/);
  t.match(stdout, /update status: .*desired 2, active 0/);
  t.notMatch(stdout, /delete/);
  t.same(fake.writes, []);
});

t.test("containers that are to be added, through their subresource", async (t) => {
  const fake = fakeCluster();
  const template = { ephemeralContainers: [{ name: "debug", image: "busybox:1" }] };
  const spec = { selector: { matchLabels: { app: "web" } }, template };
  fake.put("ephemeraljobs.apps.kruise.io", kruise("EphemeralJob", { metadata: metadata("look"), spec }));
  fake.put("pods", pod("web-1", { app: "web" }));
  fake.put("pods", pod("web-2", { app: "web" }, { namespace: "elsewhere" }));
  fake.put("pods", pod("other", { app: "other" }));
  const { stdout, stderr } = await run("plan ephemeraljob/look", { client: fake.client });
  t.equal(stderr, "");
  t.match(stdout, /add finalizer /);
  t.match(stdout, /change spec of Pod web-1 through ephemeralcontainers/);
  t.notMatch(stdout, /web-2|other/);
  t.same(fake.writes, []);
});

t.test("pods that are to name their budget", async (t) => {
  const fake = fakeCluster();
  const spec = { selector: { matchLabels: { app: "web" } }, maxUnavailable: 1 };
  const budget = { apiVersion: "policy.kruise.io/v1beta1", kind: "PodUnavailableBudget" };
  fake.put(
    "podunavailablebudgets.policy.kruise.io",
    toAnyObject({ ...budget, metadata: metadata("web"), spec }),
  );
  fake.put("pods", pod("web-1", { app: "web" }));
  const { stdout, stderr } = await run("plan pub/web", { client: fake.client });
  t.equal(stderr, "");
  t.match(stdout, /update status: /);
  t.match(stdout, /change metadata.annotations of Pod web-1/);
  t.same(fake.writes, []);
});

t.test("a node image of a node that is gone", async (t) => {
  const fake = fakeCluster();
  const gone = { ...metadata("node1"), namespace: undefined };
  fake.put("nodeimages.apps.kruise.io", kruise("NodeImage", { metadata: gone, spec: {} }));
  const { stdout, stderr } = await run("plan nodeimage/node1", { client: fake.client });
  t.equal(stderr, "");
  t.match(stdout, /delete the object itself/);
  t.same(fake.writes, []);
});

t.test("every effect has words", async (t) => {
  const names = {
    kindOf: (resource: string) => (resource === "pods" ? "Pod" : resource),
    namespace: "default",
  };
  const patch = { type: "patch", resource: "pods", namespace: "default", name: "a" } as const;
  const event = { type: "event", event: { type: "Normal", reason: "Done", message: "it is done" } } as const;
  const named = { resource: "pods", namespace: "other", name: "a" };
  t.same(
    [
      describeEffect({ type: "create", ...named, body: {} }, names),
      describeEffect({ type: "delete", ...named, uid: "u" }, names),
      describeEffect(
        { ...patch, patch: { type: "merge", body: { metadata: { uid: "u", labels: {} } } } },
        names,
      ),
      describeEffect({ ...patch, patch: { type: "json", body: [{ op: "remove", path: "/spec/x" }] } }, names),
      describeEffect({ type: "background", attempt: "1", effects: [event] }, names),
      describeEffect(
        { type: "attempts", attempts: [{ effect: event }, { effect: event, after: ["Conflict"] }] },
        names,
      ),
      describeEffect({ type: "patch object", body: { metadata: { annotations: {} } } }, names),
      describeEffect({ type: "patch status", status: {} }, names),
      describeEffect({ type: "patch status", status: { desired: 2, conditions: [] } }, names),
      describeEffect({ type: "remove finalizer", finalizer: "x/y" }, names),
      describeEffect({ type: "create object", body: {} }, names),
      describeEffect({ type: "confirm object" }, names),
      describeEffect({ type: "edit", resource: "pods", name: "a", edit: { type: "pull task" } }, names),
    ],
    [
      ["create Pod other/a"],
      ["delete Pod other/a"],
      ["change metadata.labels of Pod a"],
      ["change spec/x of Pod a"],
      ["report Done: it is done"],
      ["report Done: it is done", "report Done: it is done, if that is refused as Conflict"],
      ["change metadata.annotations of the object itself"],
      [],
      ["update status: desired 2, conditions"],
      ["remove finalizer x/y"],
      ["create the object itself"],
      [],
      ["put a pull task into Pod a"],
    ],
  );
});
