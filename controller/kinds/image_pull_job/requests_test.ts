/** What pull jobs ask of the server: no more than it takes, whatever somebody else does at the same time. */
import t from "tap";
import type { ImagePullJob, ImagePullJobSpec, NodeImage } from "../../../crds/index.ts";
import { type Client, KubeError, nullLog, seededRandom } from "../../../kube/index.ts";
import { answered } from "../../../testkit/controller/image_pull_job_builder.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { withFaults } from "../../../testkit/kube/fake_faults.ts";
import { fakeServer, type StoredObject } from "../../../testkit/kube/fake_server.ts";
import { parseFeatureGates } from "../../runtime/feature_gates.ts";
import { controllerOptions } from "../../runtime/options.ts";
import { startControllers } from "../../start.ts";

const jobs = "imagepulljobs.apps.kruise.io";
const nodeImages = "nodeimages.apps.kruise.io";
const namespace = "kruise-daemon-config";
const served: Readonly<Record<string, readonly string[]>> = {
  "/api/v1": ["pods", "persistentvolumeclaims", "nodes", "events", "secrets"],
  "/apis/apps.kruise.io/v1beta1": ["imagepulljobs", "nodeimages"],
};

function scene(nodes: readonly string[]) {
  const clock = testClock();
  const server = fakeServer({
    request: (path) =>
      path === "/version"
        ? { gitVersion: "v1.34.0", major: "1", minor: "34" }
        : { resources: (served[path] ?? []).map((name) => ({ name })) },
  });
  for (const name of nodes) {
    const conditions = [{ type: "Ready", status: "True" }];
    server.put("nodes", { metadata: { name, uid: `node-${name}` }, status: { conditions } });
    server.put(nodeImages, { metadata: { name, uid: `image-${name}` }, spec: {} });
  }
  const started: { stop(graceMs: number): unknown }[] = [];
  t.teardown(() => started.map((controllers) => controllers.stop(0)));
  return {
    clock,
    server,
    async start(client: Client = server.client): Promise<void> {
      const gates = parseFeatureGates("ImagePullJobGate=true");
      const controllers = startControllers({
        client,
        clock,
        random: seededRandom(1),
        log: nullLog,
        options: controllerOptions({ gates }),
      });
      controllers.synced.catch(() => undefined);
      started.push(controllers);
      await clock.advance(3000);
      await this.settle(2);
    },
    job(name: string, spec: Partial<ImagePullJobSpec>, uid = `uid-${name}`): void {
      const whole = { image: "nginx:1", completionPolicy: { type: "Always" as const }, ...spec };
      server.put(jobs, { metadata: { name, namespace: "ns", uid, generation: 1 }, spec: whole });
    },
    secret(name: string, in_ = "ns", more: Partial<StoredObject> = {}): void {
      const data = { ".dockerconfigjson": "e30=" };
      server.put("secrets", {
        metadata: { name, namespace: in_, uid: `uid-${in_}-${name}`, ...more.metadata },
        type: "kubernetes.io/dockerconfigjson",
        data,
      });
    },
    /** Agents pull what they are told, and time goes on. */
    async settle(rounds = 10): Promise<void> {
      for (let round = 0; round < rounds; round++) {
        for (const object of server.all(nodeImages)) {
          const [spec, status] = [Object(object["spec"]), Object(object["status"])];
          const before: NodeImage = { metadata: object.metadata, spec, status };
          const after = answered(before, "Succeeded", clock.now());
          if (JSON.stringify(after.status) !== JSON.stringify(before.status))
            server.put(nodeImages, { ...object, status: after.status });
        }
        await clock.advance(300);
      }
    },
    status: (name: string): ImagePullJob["status"] => Object(server.object(jobs, `ns/${name}`))["status"],
    copies: () => server.all("secrets").filter(({ metadata }) => metadata.namespace === namespace),
    /** How often each was asked since, but for watches and events. */
    asked(): Record<string, number> {
      const counts: Record<string, number> = {};
      for (const call of server.calls.splice(0)) {
        const [verb = "", plural = ""] = call.split(" ");
        if (verb === "watch" || verb === "list" || plural === "events") continue;
        counts[`${verb} ${plural}`] = (counts[`${verb} ${plural}`] ?? 0) + 1;
      }
      return counts;
    },
  };
}

const many = { parallelism: 10 };

t.test("a job is one write a node, and a few of its status", async (t) => {
  const s = scene(["n1", "n2", "n3", "n4"]);
  await s.start();
  s.asked();
  s.job("one", many);
  await s.settle();
  t.match(s.status("one"), { desired: 4, succeeded: 4 });
  t.same(s.asked(), { "patch nodeimages": 4, "patch imagepulljobs": 3 });
});

t.test("edits of several jobs that wait for one node become one write", async (t) => {
  const s = scene(["n1", "n2"]);
  const patch = (plural: string) =>
    plural === "nodeimages" ? { before: () => s.clock.sleep(200) } : undefined;
  await s.start(withFaults(s.server.client, { patch }));
  s.asked();
  for (const name of ["a", "b", "c", "d"]) s.job(name, { ...many, image: `nginx:${name}` });
  await s.settle(20);
  for (const name of ["a", "b", "c", "d"]) t.match(s.status(name), { desired: 2, succeeded: 2 }, name);
  const { "patch nodeimages": writes = 0 } = s.asked();
  t.ok(writes <= 6, `${writes} writes of two nodes for eight tasks`);
});

t.test("a secret is copied before nodes are told, shared by jobs, and given back", async (t) => {
  const s = scene(["n1", "n2"]);
  await s.start();
  s.secret("registry");
  s.asked();
  s.job("one", { ...many, pullSecrets: ["registry"] });
  await s.settle();
  t.match(s.status("one"), { desired: 2, succeeded: 2 });
  t.same(s.copies(), [], "it is given back by now");
  const secrets = Object(s.server.read(nodeImages, "n1")["spec"]).images.nginx.pullSecrets;
  t.match(secrets, [{ namespace, name: /^registry-[0-9a-f]{6}$/, mode: "batch" }]);
  t.same(s.asked(), {
    "patch imagepulljobs": 5,
    "create secrets": 1,
    "patch nodeimages": 2,
    "delete secrets": 1,
  });
});

t.test("jobs that copy the same secret at the same time share the copy", async (t) => {
  const s = scene(["n1"]);
  await s.start();
  s.secret("registry");
  const never = { ...many, pullSecrets: ["registry"], completionPolicy: { type: "Never" as const } };
  s.asked();
  s.job("a", { ...never, image: "nginx:a" });
  s.job("b", { ...never, image: "nginx:b" });
  await s.settle();
  const [copy, ...others] = s.copies();
  t.same(others, []);
  t.equal(copy?.metadata.annotations?.["imagepulljobs.kruise.io/references"], "ns/a,ns/b");
  t.match(s.status("a"), { desired: 1, succeeded: 1 });
  t.match(s.status("b"), { desired: 1, succeeded: 1 });
  t.same(s.asked(), {
    "patch imagepulljobs": 6,
    "create secrets": 2,
    "patch secrets": 1,
    "patch nodeimages": 2,
  });
});

t.test("a secret that gets the name before the copy is written keeps what it has", async (t) => {
  const s = scene(["n1"]);
  let name = "";
  const create = (plural: string) => {
    if (plural !== "secrets" || name !== "") return undefined;
    return {
      before: () => {
        // What the next creation is called: that of another job for the same secret.
        name = probe;
        s.secret(probe, namespace);
      },
    };
  };
  const probe = await copyNameOf("registry");
  await s.start(withFaults(s.server.client, { create }));
  s.secret("registry");
  s.job("one", { ...many, pullSecrets: ["registry"], completionPolicy: { type: "Never" } });
  await s.settle();
  const foreign = s.server.read("secrets", `${namespace}/${probe}`);
  t.notOk(foreign.metadata.annotations, "it is as it was");
  const [copy] = s.copies().filter(({ metadata }) => metadata.name !== probe);
  t.equal(copy?.metadata.annotations?.["imagepulljobs.kruise.io/references"], "ns/one");
  t.match(s.status("one"), { desired: 1, succeeded: 1 });
});

/** The name that the copy of a secret of `ns` gets. */
async function copyNameOf(secret: string): Promise<string> {
  const s = scene([]);
  await s.start();
  s.secret(secret);
  s.job("probe", { pullSecrets: [secret], completionPolicy: { type: "Never" } });
  await s.settle();
  return s.copies()[0]?.metadata.name ?? "";
}

t.test("a copy that cannot be written keeps nodes from being told, and is tried again", async (t) => {
  const s = scene(["n1"]);
  let isRefused = true;
  const before = () => {
    if (isRefused) throw new KubeError("Forbidden", "not you", { status: 403 });
  };
  const create = (plural: string) => (plural === "secrets" ? { before } : undefined);
  await s.start(withFaults(s.server.client, { create }));
  s.secret("registry");
  s.asked();
  s.job("one", { ...many, pullSecrets: ["registry"] });
  await s.settle();
  t.equal(s.status("one"), undefined);
  t.equal(s.asked()["patch nodeimages"], undefined);
  isRefused = false;
  await s.settle(100);
  t.match(s.status("one"), { desired: 1, succeeded: 1 });
});

t.test("a node that refuses is tried again, the others first; it counts as waiting meanwhile", async (t) => {
  const s = scene(["n1", "n2", "n3"]);
  let isRefused = true;
  const before = () => {
    if (isRefused) throw new KubeError("Unavailable", "not now", { status: 503 });
  };
  const patch = (plural: string, name: string) =>
    plural === "nodeimages" && name === "n1" ? { before } : undefined;
  await s.start(withFaults(s.server.client, { patch }));
  s.job("one", { parallelism: 1 });
  await s.settle(10);
  t.match(s.status("one"), { desired: 3, succeeded: 2 });
  isRefused = false;
  await s.settle(40);
  t.match(s.status("one"), { desired: 3, succeeded: 3, active: 0 });
});
