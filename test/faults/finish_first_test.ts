/** A server that is slower than the rollout would like: what brings pods back does not wait for what takes others out. */
import assert from "node:assert/strict";
import { performance } from "node:perf_hooks";
import t from "tap";
import { controllerOptions, startControllers } from "../../controller/index.ts";
import { type Client, createClient, nullLog, systemClock, undiciTransport } from "../../kube/index.ts";
import { imagePatch } from "../cases/manifests.ts";
import { startTestSandbox, type TestSandbox } from "../cases/sandbox_target.ts";
import { inTime, reached } from "./lab.ts";
import { clone, type Place } from "./scenarios.ts";

const namespace = "finish-first";
const agent = `${namespace}/`;
const replicas = 40;
const maxUnavailable = 30;
/**
 * Between the place in the window and the request there are only the credentials, which are there. A write that is passed
 * over waits for an answer, which takes `latencyMs`; a busy machine may stall for a while.
 */
const latencyMs = 200;
const instantMs = latencyMs / 2;

interface Watched {
  readonly client: Client;
  readonly sent: { begin: number; finish: number };
  /** How long each write that finishes had waited when one that begins was sent, where it had waited at all. */
  readonly waited: number[];
}

/** A client that tells when a write of a pod is asked for and when it is sent. */
function watched(sandbox: TestSandbox): Watched {
  const waitsSince = new Map<string, number>();
  const sent = { begin: 0, finish: 0 };
  const waited: number[] = [];
  const transport = undiciTransport({ clock: systemClock });
  const inner = createClient({
    credentials: sandbox.credentials,
    clock: systemClock,
    random: Math.random,
    userAgent: agent,
    transport: {
      ...transport,
      send: (access, request) => {
        const body = request.body ?? "";
        if (request.method !== "PATCH" || !request.path.includes("/pods/"))
          return transport.send(access, request);
        if (isBeginning(body)) {
          sent.begin++;
          const now = performance.now();
          for (const since of waitsSince.values()) if (now - since > instantMs) waited.push(now - since);
        } else if (waitsSince.delete(body)) sent.finish++;
        return transport.send(access, request);
      },
      open: (access, request) => transport.open(access, request),
      close: () => transport.close(),
    },
  });
  const client: Client = {
    get: (...words) => inner.get(...words),
    list: (...words) => inner.list(...words),
    create: (...words) => inner.create(...words),
    replace: (...words) => inner.replace(...words),
    delete: (...words) => inner.delete(...words),
    watch: (...words) => inner.watch(...words),
    request: (...words) => inner.request(...words),
    stream: (...words) => inner.stream(...words),
    close: () => inner.close(),
    patch: (resource, ref, patch, options) => {
      const body = JSON.stringify(patch.body);
      if (resource.plural === "pods" && !isBeginning(body)) waitsSince.set(body, performance.now());
      return inner.patch(resource, ref, patch, options);
    },
  };
  return { client, sent, waited };
}

/** The gate of a pod is closed. */
function isBeginning(body: string): boolean {
  return body.includes("StartInPlaceUpdate");
}

t.test("no write that begins is sent while one that finishes waits", async (t) => {
  const sandbox = await startTestSandbox();
  t.teardown(() => sandbox.stop());
  const { api, faults } = sandbox;
  const place: Place = { api, namespace };
  await api.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const { client, sent, waited } = watched(sandbox);
  const controllers = startControllers({
    client,
    clock: systemClock,
    random: Math.random,
    log: nullLog,
    options: controllerOptions({ namespace }),
  });
  t.teardown(async () => {
    await controllers.stop(0);
    await client.close();
  });
  await inTime(controllers.synced, "caches were not filled");
  await api.create(clone({ replicas, maxUnavailable }), namespace);
  const ready = async () => {
    const { metadata, status } = await api.get("clonesets", "it", namespace);
    assert.equal(status?.["observedGeneration"], metadata.generation);
    assert.equal(status?.updatedReadyReplicas, replicas);
  };
  await reached(place, ready, "its beginning");
  faults.add({
    userAgent: agent,
    verb: "patch",
    resource: "pods",
    effect: { type: "latency", ms: latencyMs },
  });
  await api.patch("clonesets", "it", namespace, "json", imagePatch("nginx:1.21"));
  await reached(place, ready, "its end");
  t.ok(sent.begin >= replicas, `${sent.begin} pods were begun`);
  t.ok(sent.finish >= 2 * replicas, `${sent.finish} writes finished them`);
  t.same(waited, [], "milliseconds");
});
