/** Which pods a set is reconciled with: by its selectors, as namespaces change, and after a restart. */
import t, { type Test } from "tap";
import {
  defaultSidecarSet,
  injectedListAnnotation,
  type SidecarSet,
  sidecarSetHashAnnotation,
  sidecarSetHashWithoutImageAnnotation,
} from "../../../crds/index.ts";
import { type JsonObject, own } from "../../../kube/core/index.ts";
import { Cache, namespaceResource, type Resource } from "../../../kube/index.ts";
import { kindDeps } from "../../../testkit/controller/kind_deps_builder.ts";
import { type TestClock, testClock } from "../../../testkit/kube/fake_clock.ts";
import { type FakeServer, fakeServer } from "../../../testkit/kube/fake_server.ts";
import { pod } from "../../../testkit/kube/pod_manifest_builder.ts";
import { sidecarSetResource } from "../../plan/resources.ts";
import type { Informers } from "../../runtime/informers.ts";
import { Shell } from "../../runtime/shell.ts";
import { sidecarSetReconciler } from "./reconcile.ts";

const sets = "sidecarsets.apps.kruise.io";

function decoded<T>(resource: Resource<T>, object: object): T {
  return resource.codec.decode(Buffer.from(JSON.stringify(object)), "application/json");
}

const setJson = (spec: JsonObject): JsonObject =>
  defaultSidecarSet({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "SidecarSet",
    metadata: { name: "set", uid: "uid-set", generation: 1 },
    spec: {
      selector: { matchLabels: { app: "web" } },
      containers: [{ name: "side", image: "side:1" }],
      ...spec,
    },
  });

/** Injected and ready, in a namespace. */
function put(server: FakeServer, set: SidecarSet, namespace: string, name: string): void {
  const { annotations = {} } = set.metadata;
  const entry = (annotation: string) => JSON.stringify({ set: annotations[annotation] });
  const metadata = {
    name,
    namespace,
    uid: `uid-${namespace}-${name}`,
    labels: { app: "web" },
    annotations: {
      [injectedListAnnotation]: "set",
      [sidecarSetHashAnnotation]: entry(sidecarSetHashAnnotation),
      [sidecarSetHashWithoutImageAnnotation]: entry(sidecarSetHashWithoutImageAnnotation),
    },
  };
  const spec = { containers: [{ name: "side", image: "side:1" }] };
  const status = {
    phase: "Running",
    conditions: [{ type: "Ready", status: "True" }],
    containerStatuses: [{ name: "side", image: "side:1", imageID: "side@1", ready: true }],
  };
  server.put("pods", { ...pod(name, {}, { spec, status }), metadata });
}

/** A controller as it is after its start, over a server that has the set. */
function controllerOf(t: Test, server: FakeServer, clock: TestClock) {
  const base = kindDeps(sidecarSetResource, server.client, clock);
  t.teardown(() => base.stop());
  const namespaces: ((object: object) => void)[] = [];
  const cacheOf: Informers["cacheOf"] = <T>(resource: Resource<T>, indexes = {}) => {
    const cache = new Cache<T>({ identify: resource.codec.identify, indexes });
    if (resource.plural === namespaceResource.plural)
      namespaces.push((object) => cache.upsert(decoded(resource, object)));
    return cache;
  };
  const deps = { ...base, informers: { cacheOf } };
  const shell = new Shell(deps, sidecarSetReconciler(deps));
  let version = 0;
  return {
    putNamespace(name: string, labels: Record<string, string>): void {
      const resourceVersion = String(++version);
      for (const put of namespaces) put({ metadata: { name, uid: name, resourceVersion, labels } });
    },
    /** What an event of a pod leads to. */
    async look(): Promise<void> {
      base.objects.upsert(decoded(sidecarSetResource, server.read(sets, "set")));
      await shell.reconcile("set");
      await shell.drained();
    },
    /** As its watch would bring it, revisions included. */
    async pass(): Promise<unknown> {
      base.objects.upsert(decoded(sidecarSetResource, server.read(sets, "set")));
      await shell.reconcile("set");
      await clock.advance(5000);
      await shell.reconcile("set");
      await shell.drained();
      return own(Object(server.read(sets, "set")["status"]), "matchedPods");
    },
  };
}

function scene(t: Test, spec: JsonObject) {
  const server = fakeServer();
  const clock = testClock();
  server.put(sets, { ...setJson(spec), metadata: { ...Object(setJson(spec)["metadata"]) } });
  const set = decoded(sidecarSetResource, server.read(sets, "set"));
  for (const [namespace, name] of [
    ["a", "one"],
    ["a", "two"],
    ["b", "one"],
  ] as const)
    put(server, set, namespace, name);
  return { server, clock, start: () => controllerOf(t, server, clock) };
}

t.test("labels of namespaces decide, also when they change", async (t) => {
  const { start } = scene(t, { namespaceSelector: { matchLabels: { team: "x" } } });
  const controller = start();
  controller.putNamespace("a", { team: "x" });
  controller.putNamespace("b", { team: "y" });
  t.equal(await controller.pass(), 2);
  controller.putNamespace("b", { team: "x" });
  t.equal(await controller.pass(), 3);
  controller.putNamespace("a", {});
  t.equal(await controller.pass(), 1);
});

t.test("a selector that names namespaces limits the watches to them", async (t) => {
  const named = { key: "kubernetes.io/metadata.name", operator: "In", values: ["b", "c"] };
  const { server, start } = scene(t, { namespaceSelector: { matchExpressions: [named] } });
  const controller = start();
  for (const name of ["a", "b"]) controller.putNamespace(name, { "kubernetes.io/metadata.name": name });
  t.equal(await controller.pass(), 1);
  t.same([...server.watched].sort(), ["b|app=web|", "c|app=web|"]);
});

t.test("after a restart the same pods are counted, and nothing is written to them", async (t) => {
  const { server, start } = scene(t, {});
  t.equal(await start().pass(), 3);
  t.equal(await start().pass(), 3);
  t.same(
    server.writes.filter((write) => write.includes(" pods ")),
    [],
  );
});

t.test("pods that are created one after the other are many to a write of the status", async (t) => {
  const { server, clock, start } = scene(t, {});
  const set = decoded(sidecarSetResource, server.read(sets, "set"));
  const create = (count: number, prefix: string) => {
    for (let index = 0; index < count; index++) put(server, set, "storm", `${prefix}-${index}`);
  };
  create(200, "before");
  const controller = start();
  t.equal(await controller.pass(), 203);
  const written = () => server.writes.filter((write) => write.includes("sidecarsets")).length;
  const before = written();
  for (let event = 0; event < 10; event++) {
    create(1, `during-${event}`);
    await clock.settle();
    await controller.look();
  }
  t.ok(written() - before <= 1, `${written() - before} writes`);
  await clock.advance(1000);
  t.equal(await controller.pass(), 213);
});
