import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { systemClock } from "../../kube/index.ts";
import { startSandbox } from "../../sandbox/index.ts";
import { runHere } from "../../testkit/cli/command_fixture.ts";
import {
  formerDefinitions,
  podsOf,
  putStoredObjects,
  storedObjects,
} from "../../testkit/cli/stored_objects.ts";
import { listAt, textAt } from "../fields.ts";

const sandbox = await startSandbox({ seed: 16, clock: systemClock, nodes: 2, crds: formerDefinitions() });
t.teardown(() => sandbox.stop());
const kubeconfig = join(t.testdir(), "kubeconfig");
writeFileSync(kubeconfig, sandbox.kubeconfig);
const namespace = "shop";
const objects = await storedObjects();
await putStoredObjects(kubeconfig, objects);
const pods = podsOf(objects);
const check = (flags = "") => runHere(`migrate check --kubeconfig ${kubeconfig} ${flags}`);

async function untilReady(): Promise<void> {
  for (;;) {
    const all = [...sandbox.cluster.list("pods", namespace)];
    const ready = all.filter((pod) =>
      listAt(pod, "status", "conditions").some(
        (condition) => textAt(condition, "type") === "Ready" && textAt(condition, "status") === "True",
      ),
    );
    if (ready.length === pods.length) return;
    await sleep(50);
  }
}

t.test("a cluster as OpenKruise leaves it: no pod would be touched", async (t) => {
  await untilReady();
  const { code, stdout, stderr } = await check();
  t.equal(code, 0, stderr);
  const lines = stdout.split("\n");
  t.same(lines.slice(0, 2), ["Nothing is in the way.", "Pods that would be deleted or restarted: 0"]);
  t.match(stdout, /^DEFINITION +OBJECTS +SERVED +STORED$/m);
  t.match(stdout, /^clonesets\.apps\.kruise\.io +[1-9]\d* +v1alpha1(,v1beta1)? +v1\w+$/m);
  t.notMatch(stdout, /mutate-/, "who answers webhooks is named once");
});

const inTheWay = async (): Promise<{ code: number; found: string[] }> => {
  const { code, stdout } = await check("-o json");
  const { findings } = JSON.parse(stdout);
  const obstacles: { message: string }[] = findings.filter(
    (finding: { inTheWay: boolean }) => finding.inTheWay,
  );
  return { code, found: obstacles.map(({ message }) => message) };
};

t.test(
  "a template that no revision is recognised for, and a rollout under way, are found with the pods",
  async (t) => {
    const { cluster } = sandbox;
    const revisions = [...cluster.list("controllerrevisions.apps", namespace)];
    const name = revisions.find(({ metadata }) => metadata.name?.startsWith("sample-"))?.metadata.name ?? "";
    t.equal(name, "sample-d4d4fb5bd", "the bytes of the fixture are the reference's");
    cluster.update("controllerrevisions.apps", { namespace, name }, (draft) => {
      draft["data"] = JSON.parse(JSON.stringify(draft["data"]).replace("nginx:alpine", "nginx:other"));
    });
    cluster.update("statefulsets.apps.kruise.io", { namespace, name: "web" }, (draft) => {
      draft["spec"] = JSON.parse(JSON.stringify(draft["spec"]).replace("nginx:alpine", "nginx:next"));
    });
    const { code, found } = await inTheWay();
    t.equal(code, 1);
    t.ok(
      found.some((line) =>
        /CloneSet shop\/sample: its template has no revision that is recognised/.test(line),
      ),
      found.join("\n"),
    );
    t.ok(
      found.some((line) => /CloneSet shop\/sample \(.*: next shop\/sample-\w+ updated/.test(line)),
      found.join("\n"),
    );
    t.ok(
      found.some((line) =>
        /StatefulSet shop\/web \(.*: next shop\/web-1 updated: a rollout is under way/.test(line),
      ),
      found.join("\n"),
    );
    t.equal(found.length, 3, found.join("\n"));
  },
);

t.test("a namespace without a manager, and one that is not there, are in the way", async (t) => {
  const elsewhere = await check("--controller-namespace elsewhere");
  t.equal(elsewhere.code, 1);
  t.match(elsewhere.stdout, /there is no namespace elsewhere/);
  t.match((await check(`--controller-namespace ${namespace}`)).stdout, /no manager in namespace shop/);
});
