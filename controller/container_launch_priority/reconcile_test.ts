import t from "tap";
import type { JsonObject } from "../../kube/core/index.ts";
import { type Client, KubeError, keyOf, type Pod } from "../../kube/index.ts";
import { sharedDeps } from "../../testkit/controller/kind_deps_builder.ts";
import { barePod } from "../../testkit/controller/pod_builder.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { plainShellOf } from "../shell.ts";
import { LaunchPriorityReconciler } from "./reconcile.ts";

function pod(ready: readonly string[], more: Partial<Pod> = {}): Pod {
  const containers = ["a", "b", "c"].map((name, index) => ({
    name,
    image: "i",
    resources: {},
    resizePolicy: {},
    env: [{ name: "KRUISE_CONTAINER_BARRIER", configMapKey: { name: "web-barrier", key: `p_${-index}` } }],
  }));
  return barePod("web", {
    uid: "pod-1",
    fieldManagers: "updates",
    containers,
    containerStatuses: containers.map(({ name }) => {
      const isReady = ready.includes(name);
      return { name, image: "i", imageID: "", containerID: "", ready: isReady, restartCount: 0 };
    }),
    ...more,
  });
}

const created = pod([], { containerStatuses: [] });

/** An API server with one ConfigMap at most; the only verbs that are used. */
function setUp(present?: JsonObject) {
  let podIsGone = false;
  const calls: string[] = [];
  const maps = new Map<string, JsonObject>();
  if (present) maps.set("web-barrier", present);
  const missing = () => new KubeError("NotFound", "not found", { status: 404 });
  const unused = async () => {
    throw new Error("not used");
  };
  const asJson = (value: object): JsonObject => JSON.parse(JSON.stringify(value));
  const client: Client = {
    list: unused,
    replace: unused,
    watch: unused,
    request: unused,
    close: async () => undefined,
    get: async (resource, { name }) => {
      calls.push(`get ${resource.plural}`);
      const found = maps.get(name);
      if (!found) throw missing();
      return resource.codec.decode(Buffer.from(JSON.stringify(found)), "application/json");
    },
    create: async (resource, _namespace, body) => {
      calls.push(`create ${resource.plural}`);
      const object = typeof body === "string" ? {} : asJson(body);
      const name = String(Object(object["metadata"]).name);
      if (maps.has(name)) throw new KubeError("AlreadyExists", "there", { status: 409 });
      maps.set(name, object);
      return resource.codec.decode(Buffer.from(JSON.stringify(object)), "application/json");
    },
    patch: async (resource, { name }, { body }) => {
      calls.push(`patch ${resource.plural} ${JSON.stringify(Object(body).data ?? Object(body).metadata)}`);
      if (resource.plural === "pods") {
        if (podIsGone) throw missing();
        const metadata = { namespace: "ns", name, uid: "pod-1", resourceVersion: "0" };
        return resource.codec.decode(Buffer.from(JSON.stringify({ metadata })), "application/json");
      }
      const found = maps.get(name);
      if (!found) throw missing();
      found["data"] = { ...Object(found["data"]), ...Object(body).data };
      return resource.codec.decode(Buffer.from(JSON.stringify(found)), "application/json");
    },
    delete: async (resource, { name }) => {
      calls.push(`delete ${resource.plural}`);
      maps.delete(name);
      return undefined;
    },
  };
  const deps = sharedDeps(client, testClock());
  const shellOfNewProcess = () => plainShellOf(deps, new LaunchPriorityReconciler(deps));
  let shell = shellOfNewProcess();
  let version = 0;
  const launch = (one: Pod) => {
    deps.caches.pods.upsert({ ...one, resourceVersion: String(++version) });
    return shell.reconcile(keyOf(one));
  };
  return {
    launch,
    calls,
    maps,
    restart() {
      shell = shellOfNewProcess();
    },
    removePod() {
      podIsGone = true;
    },
  };
}

const poke = (key: string) =>
  `patch pods {"uid":"pod-1","annotations":{"refit.dev/launch-released":"${key}"}}`;
const done =
  'patch pods {"uid":"pod-1","annotations":{"apps.kruise.io/container-launch-priority-completed":"true","refit.dev/launch-released":null}}';

t.test("a whole launch: one ConfigMap, one patch a level, and the pod shows it", async (t) => {
  const { launch, calls, maps } = setUp();
  await launch(created);
  await launch(pod([]));
  t.strictSame(calls, ["create configmaps"], "nothing is written while nothing changes");
  t.match(maps.get("web-barrier"), {
    metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "web", uid: "pod-1" }] },
    data: { p_0: "true" },
  });
  calls.length = 0;
  await launch(pod(["a"]));
  t.strictSame(calls, ['patch configmaps {"p_0":"true","p_-1":"true"}', poke("p_-1")]);
  calls.length = 0;
  await launch(pod(["a", "b"]));
  t.strictSame(calls, ['patch configmaps {"p_0":"true","p_-1":"true","p_-2":"true"}', done]);
});

t.test("a level that is no longer ready halts the next, without a write", async (t) => {
  const { launch, calls } = setUp();
  await launch(created);
  await launch(pod(["a"]));
  calls.length = 0;
  await launch(pod([]));
  await launch(pod(["b"]));
  await launch(pod(["a"]));
  t.strictSame(calls, []);
});

t.test("a controller that starts in the middle goes on", async (t) => {
  const { launch, restart, calls, maps } = setUp({
    metadata: { name: "web-barrier" },
    data: { p_0: "true" },
  });
  await launch(pod(["a"]));
  t.match(maps.get("web-barrier"), { data: { p_0: "true", "p_-1": "true" } });
  maps.clear();
  calls.length = 0;
  restart();
  await launch(pod(["a"]));
  t.strictSame(calls, ['patch configmaps {"p_0":"true","p_-1":"true"}', "create configmaps", poke("p_-1")]);
  t.match(maps.get("web-barrier"), { data: { "p_-1": "true" } }, "a lost ConfigMap comes back whole");
});

t.test("the ConfigMap of a former pod of the name makes way", async (t) => {
  const former = { kind: "Pod", name: "web", uid: "pod-0", apiVersion: "v1" };
  const data = { p_0: "true", "p_-1": "true", "p_-2": "true" };
  const { launch, calls, maps } = setUp({
    metadata: { name: "web-barrier", uid: "m", ownerReferences: [former] },
    data,
  });
  await launch(created);
  t.strictSame(calls, ["create configmaps", "get configmaps", "delete configmaps", "create configmaps"]);
  t.strictSame(maps.get("web-barrier")?.["data"], { p_0: "true" });
});

t.test("one of this pod, or of somebody else, is added to", async (t) => {
  for (const metadata of [
    { name: "web-barrier", ownerReferences: [{ kind: "Pod", name: "web", uid: "pod-1", apiVersion: "v1" }] },
    { name: "web-barrier" },
  ]) {
    const { launch, calls, maps } = setUp({ metadata, data: { mine: "1" } });
    await launch(created);
    t.match(calls.at(-1), 'patch configmaps {"p_0":"true"}');
    t.strictSame(maps.get("web-barrier")?.["data"], { mine: "1", p_0: "true" });
  }
});

t.test("a pod that goes meanwhile is looked at once more", async (t) => {
  const { launch, removePod, calls } = setUp();
  await launch(created);
  removePod();
  calls.length = 0;
  t.same(await launch(pod(["a"])), { requeueAfterMs: 100 });
  t.strictSame(calls, ['patch configmaps {"p_0":"true","p_-1":"true"}', poke("p_-1")]);
});
