import t from "tap";
import { fakeCluster } from "../../testkit/cli/fake_cluster.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { toAnyObject } from "../fields.ts";
import { waitUntilGone } from "./terminating.ts";

const deletionTimestamp = "2026-01-01T00:00:00Z";

function definition(name: string, metadata: object = {}) {
  return toAnyObject({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name, ...metadata },
  });
}

function namespace(messages: readonly string[]) {
  const conditions = messages.map((message) => ({ type: "Any", status: "True", message }));
  return toAnyObject({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "kruise-system", deletionTimestamp },
    status: { conditions: [...conditions, { type: "Other", status: "False", message: "all is well" }] },
  });
}

function setup() {
  const cluster = fakeCluster();
  const clock = testClock();
  const reported: string[] = [];
  const waiting = {
    client: cluster.client,
    host: { clock },
    signal: new AbortController().signal,
    report: (line: string) => reported.push(line),
  };
  return { cluster, clock, reported, waiting };
}

t.test("what is there to stay, or not there, is not waited for", async (t) => {
  const { cluster, reported, waiting } = setup();
  cluster.put("customresourcedefinitions.apiextensions.k8s.io", definition("stays"));
  await waitUntilGone([definition("stays"), definition("absent")], waiting);
  t.same(reported, []);
});

t.test("tells anew when the reason changes, and ends with the object", async (t) => {
  const { cluster, clock, reported, waiting } = setup();
  cluster.put("namespaces", namespace([]));
  const waited = waitUntilGone([namespace([])], waiting);
  await clock.advance(1000);
  cluster.put("namespaces", namespace(["one pod is left", "a webhook fails"]));
  await clock.advance(1000);
  t.same(reported, [
    "waiting: namespace/kruise-system is being deleted",
    "waiting: namespace/kruise-system is being deleted: one pod is left; a webhook fails",
  ]);
  cluster.remove("namespaces", "kruise-system");
  await clock.advance(1000);
  await waited;
});

t.test("gives up, and says what kept the object", async (t) => {
  const { cluster, clock, waiting } = setup();
  const ending = definition("clonesets.apps.kruise.io", { deletionTimestamp, finalizers: ["a/b", "c"] });
  cluster.put("customresourcedefinitions.apiextensions.k8s.io", ending);
  const waited = t.rejects(waitUntilGone([ending], waiting), {
    message:
      "customresourcedefinition.apiextensions.k8s.io/clonesets.apps.kruise.io is being deleted: it has finalizers a/b, c; gave up waiting after 120 s",
  });
  await clock.advance(121_000);
  await waited;
});
