import t from "tap";
import { type Labels, parseSelector } from "../kube/core/index.ts";
import {
  type Change,
  type Client,
  KubeError,
  nullMetrics,
  type Pod,
  podResource,
  type Resource,
  seededRandom,
  testClock,
  testLog,
  type WatchEvent,
  type WatchOptions,
} from "../kube/index.ts";
import { type PodSelection, SelectedPods } from "./selected_pods.ts";

interface PodManifest {
  metadata: { name: string; namespace: string; uid: string; labels: Labels; resourceVersion?: string };
  status?: { phase: string };
}

/** A server that has only pods; watches see what their selection matches, as a real one's do. */
function podServer() {
  const pods = new Map<string, PodManifest>();
  const watches = new Set<{
    options: WatchOptions;
    send(type: "ADDED" | "MODIFIED" | "DELETED", pod: PodManifest): void;
  }>();
  const opened: string[] = [];
  let version = 0;
  const matches = (options: WatchOptions, pod: PodManifest | undefined): pod is PodManifest =>
    pod !== undefined &&
    (options.namespace ?? pod.metadata.namespace) === pod.metadata.namespace &&
    parseSelector(options.labelSelector ?? "").matches(pod.metadata.labels);
  const none = () => Promise.reject(new KubeError("MethodNotAllowed", "only watches are served here"));
  const client: Client = {
    get: none,
    list: none,
    create: none,
    replace: none,
    patch: none,
    delete: none,
    request: none,
    close: () => Promise.resolve(),
    async watch<T>(resource: Resource<T>, options: WatchOptions) {
      const waiting: WatchEvent<T>[] = [];
      let wake = (): void => undefined;
      const entry = {
        options,
        send(type: "ADDED" | "MODIFIED" | "DELETED", pod: PodManifest) {
          waiting.push({ type, object: decoded(resource, pod) });
          wake();
        },
      };
      watches.add(entry);
      const { namespace = "*", labelSelector = "", fieldSelector = "" } = options;
      opened.push([namespace, labelSelector, fieldSelector].join("|"));
      for (const pod of pods.values()) if (matches(options, pod)) entry.send("ADDED", pod);
      waiting.push({ type: "BOOKMARK", resourceVersion: String(version), initialEventsEnd: true });
      options.signal.addEventListener("abort", () => {
        watches.delete(entry);
        wake();
      });
      async function* stream(): AsyncGenerator<readonly WatchEvent<T>[]> {
        while (!options.signal.aborted) {
          if (waiting.length > 0) yield waiting.splice(0);
          else {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        }
      }
      return stream();
    },
  };
  return {
    client,
    opened,
    watches,
    put(pod: PodManifest): Pod {
      const before = pods.get(pod.metadata.name);
      const stored = { ...pod, metadata: { ...pod.metadata, resourceVersion: String(++version) } };
      pods.set(pod.metadata.name, stored);
      for (const { options, send } of watches) {
        const was = matches(options, before);
        if (matches(options, stored)) send(was ? "MODIFIED" : "ADDED", stored);
        else if (was) send("DELETED", stored);
      }
      return decoded(podResource, stored);
    },
  };
}

function decoded<T>(resource: Resource<T>, pod: PodManifest): T {
  const body = JSON.stringify({ apiVersion: "v1", kind: "Pod", ...pod });
  return resource.codec.decode(Buffer.from(body), "application/json");
}

const pod = (name: string, labels: Labels): PodManifest => ({
  metadata: { name, namespace: "ns", uid: `uid-${name}`, labels },
});

function selecting(server: ReturnType<typeof podServer>, namespace = "") {
  const clock = testClock();
  const selected = new SelectedPods<Pod>({
    client: server.client,
    clock,
    random: seededRandom(1),
    log: testLog(),
    metrics: nullMetrics,
    resource: podResource,
    namespace,
  });
  return { clock, selected };
}

const web: PodSelection = { namespace: "ns", labels: { matchLabels: { app: "web" } } };
const names = (pods: { values(): Iterable<Pod> }) => [...pods.values()].map(({ name }) => name).sort();

t.test(
  "only what is selected is watched; the key is woken once when it is there, then by each change",
  async (t) => {
    const server = podServer();
    server.put(pod("a", { app: "web" }));
    server.put(pod("b", { app: "web" }));
    server.put(pod("other", { app: "db" }));
    const { clock, selected } = selecting(server);
    const woken: [string, string | undefined][] = [];
    const needs = selected.needs((key: string, change?: Change<Pod>) =>
      woken.push([key, change?.object.name]),
    );
    t.equal(needs.need("ns/x", [web]), undefined, "not known yet");
    await clock.settle();
    t.same(woken, [["ns/x", undefined]]);
    const [held] = needs.need("ns/x", [web]) ?? [];
    t.same(held && names(held), ["a", "b"]);
    server.put(pod("other", { app: "db", changed: "yes" }));
    server.put(pod("c", { app: "web" }));
    await clock.settle();
    t.same(woken.slice(1), [["ns/x", "c"]], "a pod that is not selected wakes nobody");
    t.same(server.opened, ["ns|app=web|"]);
    await selected.stop();
    t.equal(server.watches.size, 0);
  },
);

t.test("equal selections share a watch, which ends with its last user", async (t) => {
  const server = podServer();
  const { clock, selected } = selecting(server);
  const woken: string[] = [];
  const budgets = selected.needs((key) => woken.push(`budget ${key}`));
  const markers = selected.needs((key) => woken.push(`marker ${key}`));
  budgets.need("ns/x", [web]);
  budgets.need("ns/y", [web]);
  markers.need("ns/x", [
    { ...web, labels: { matchExpressions: [{ key: "app", operator: "In", values: ["web"] }] } },
  ]);
  markers.need("ns/z", [web]);
  await clock.settle();
  t.equal(selected.watches, 2, "the two texts differ although they mean the same");
  t.same(woken.sort(), ["budget ns/x", "budget ns/y", "marker ns/x", "marker ns/z"]);
  budgets.release("ns/x");
  budgets.release("ns/y");
  budgets.release("ns/y");
  await clock.settle();
  t.equal(server.watches.size, 2, "a marker still needs it");
  woken.length = 0;
  server.put(pod("a", { app: "web" }));
  await clock.settle();
  t.same(woken.sort(), ["marker ns/x", "marker ns/z"]);
  markers.release("ns/z");
  markers.release("ns/x");
  await clock.settle();
  t.equal(server.watches.size, 0);
  t.equal(selected.watches, 0);
  t.ok(markers.need("ns/z", [web]) === undefined, "and begins anew");
  await clock.settle();
  t.same(markers.need("ns/z", [web])?.map(names), [["a"]]);
  await selected.stop();
});

t.test("a changed selector takes the place of the one before", async (t) => {
  const server = podServer();
  server.put(pod("a", { app: "web", tier: "front" }));
  server.put(pod("b", { app: "web" }));
  const { clock, selected } = selecting(server);
  const needs = selected.needs(() => undefined);
  const front: PodSelection = { namespace: "", labels: "all", fields: "spec.restartPolicy!=Always" };
  needs.need("k", [web]);
  await clock.settle();
  t.equal(needs.need("k", [web, front]), undefined);
  await clock.settle();
  t.same(needs.need("k", [web, front])?.map(names), [
    ["a", "b"],
    ["a", "b"],
  ]);
  t.same(server.opened, ["ns|app=web|", "*||spec.restartPolicy!=Always"], "what stays is not watched anew");
  needs.need("k", [front]);
  await clock.settle();
  t.equal(server.watches.size, 1);
  await selected.stop();
});

t.test(
  "a pod that leaves the selection may come back; late answers of writes bring nothing back",
  async (t) => {
    const server = podServer();
    const stored = server.put(pod("a", { app: "web" }));
    const { clock, selected } = selecting(server);
    const needs = selected.needs(() => undefined);
    needs.need("k", [web]);
    await clock.settle();
    const [held] = needs.need("k", [web]) ?? [];
    if (held === undefined) throw new Error("the selection is complete");
    t.ok(held.writeBack({ ...stored, phase: "Running", resourceVersion: "2" }));
    t.equal(held.get("ns/a")?.phase, "Running");
    server.put(pod("a", { app: "db" }));
    await clock.settle();
    t.equal(held.size, 0);
    t.notOk(held.writeBack({ ...stored, resourceVersion: "100" }), "it left while the write was under way");
    server.put(pod("a", { app: "web" }));
    await clock.settle();
    t.same(names(held), ["a"]);
    t.ok(held.writeBack({ ...stored, labels: {}, resourceVersion: "101" }));
    t.equal(held.size, 0, "a write that takes it out of the selection takes it out here");
    await selected.stop();
  },
);

t.test("a process for one namespace watches only there", async (t) => {
  const server = podServer();
  const { clock, selected } = selecting(server, "mine");
  selected.needs(() => undefined).need("k", [{ namespace: "", labels: {} }]);
  await clock.settle();
  t.same(server.opened, ["mine||"]);
  await selected.stop();
});

t.test("a selector that no server accepts is told and holds nothing", async (t) => {
  const server = podServer();
  const { selected } = selecting(server);
  const needs = selected.needs(() => undefined);
  t.throws(() => needs.need("k", [{ namespace: "ns", labels: { matchLabels: { "a b": "" } } }]), {
    code: "InvalidSelector",
  });
  t.equal(selected.watches, 0);
  await selected.stop();
});
