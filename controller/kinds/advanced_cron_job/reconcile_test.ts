import t from "tap";
import { applyMergePatch, isJsonObject, type JsonObject } from "../../../kube/core/index.ts";
import { type Client, KubeError, type Resource } from "../../../kube/index.ts";
import { kindDeps } from "../../../testkit/controller/kind_deps_builder.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { advancedCronJobResource } from "../../plan/resources.ts";
import { controllerOptions } from "../../runtime/options.ts";
import { Shell } from "../../runtime/shell.ts";
import { AdvancedCronJobReconciler } from "./reconcile.ts";

const encode = (object: JsonObject) => Buffer.from(JSON.stringify(object));

/** A shell over a server whose answers to creations wait until they are let go. */
function scene(names: readonly string[]) {
  const clock = testClock(Date.parse("2026-01-01T00:01:00Z"));
  const creations: { name: string; answer(error?: KubeError): Promise<void> }[] = [];
  let version = 1;
  const stored = new Map<string, JsonObject>();
  const decode = <T>(resource: Resource<T>, name: string): T =>
    resource.codec.decode(encode(stored.get(name) ?? {}), "application/json");
  const put = (name: string, generation: number, more: object = {}) => {
    const creationTimestamp = "2026-01-01T00:00:30Z";
    const resourceVersion = String(++version);
    const spec = { schedule: "*/1 * * * *", template: { jobTemplate: { spec: {} } }, ...more };
    const metadata = { name, namespace: "ns", uid: name, generation, creationTimestamp, resourceVersion };
    stored.set(name, { metadata, spec });
    objects.upsert(decode(advancedCronJobResource, name));
  };
  const refused = () => Promise.reject(new KubeError("MethodNotAllowed", "only creations are served here"));
  const client: Client = {
    get: async (resource, { name }) => {
      if (!stored.has(name)) throw new KubeError("NotFound", `${name} is gone`);
      return decode(resource, name);
    },
    list: refused,
    replace: refused,
    patch: async (resource, { name }, { body }) => {
      const { metadata, ...rest } = applyMergePatch(stored.get(name) ?? {}, body);
      stored.set(name, { ...rest, metadata: { ...Object(metadata), resourceVersion: String(++version) } });
      return decode(resource, name);
    },
    watch: refused,
    request: refused,
    stream: refused,
    delete: refused,
    close: async () => undefined,
    create: <T>(resource: Resource<T>, namespace: string | undefined, body: unknown) =>
      new Promise<T>((resolve, reject) => {
        const { metadata } = Object(body);
        const name = isJsonObject(metadata) ? String(metadata["name"]) : "";
        const child = {
          metadata: { ...Object(metadata), namespace, uid: `uid-${name}`, resourceVersion: "1" },
        };
        const answer = (error?: KubeError) => {
          if (error) reject(error);
          else resolve(resource.codec.decode(encode(child), "application/json"));
          return clock.settle();
        };
        creations.push({ name, answer });
      }),
  };
  const deps = {
    ...kindDeps(advancedCronJobResource, client, clock),
    options: controllerOptions({ baseDelayMs: 100, maxDelayMs: 10_000 }),
  };
  const { objects, queue, log, events } = deps;
  const shell = new Shell(deps, new AdvancedCronJobReconciler(deps));
  for (const name of names) put(name, 1);
  const remove = (name: string) => {
    objects.remove(`ns/${name}`, name);
    shell.forget(`ns/${name}`, name);
  };
  return { clock, queue, shell, creations, put, remove, log, events, stored };
}

t.test("runs that come due together are all under way at once, each once", async (t) => {
  const names = Array.from({ length: 20 }, (_, index) => `cron-${index}`);
  const { shell, creations, queue, clock } = scene(names);
  for (const name of names) await shell.reconcile(`ns/${name}`);
  for (const name of names) await shell.reconcile(`ns/${name}`);
  t.equal(creations.length, 20, "none waits for the answer to another, none is asked for twice");
  t.equal(queue.depth, 0);
  for (const { answer } of creations) await answer();
  t.equal(queue.depth, 20, "each answer is planned upon");
  for (const name of names) await shell.reconcile(`ns/${name}`);
  t.equal(creations.length, 20);
  await shell.drained();
  await clock.settle();
  queue.stop();
});

t.test("a run that is refused is tried again after its backoff; what is new is tried at once", async (t) => {
  const { shell, creations, clock, put, queue } = scene(["cron"]);
  const refuse = () => creations.at(-1)?.answer(new KubeError("Forbidden", "no", { status: 403 }));
  await shell.reconcile("ns/cron");
  await refuse();
  t.match(await shell.reconcile("ns/cron"), { requeueAfterMs: 100 });
  t.equal(creations.length, 1);
  clock.skip(100);
  await shell.reconcile("ns/cron");
  await refuse();
  t.match(await shell.reconcile("ns/cron"), { requeueAfterMs: 200 });
  t.equal(creations.length, 2);
  put("cron", 2);
  await shell.reconcile("ns/cron");
  t.equal(creations.length, 3, "the object was changed");
  await refuse();
  clock.skip(60_000);
  await shell.reconcile("ns/cron");
  t.not(creations.at(-1)?.name, creations[0]?.name, "another run is due");
  t.equal(creations.length, 4);
  queue.stop();
});

t.test("of a cron job that goes while its run is under way nothing is remembered", async (t) => {
  const { shell, creations, remove, queue, log } = scene(["cron"]);
  const refuse = () => creations.at(-1)?.answer(new KubeError("Forbidden", "no", { status: 403 }));
  await shell.reconcile("ns/cron");
  remove("cron");
  await refuse();
  t.same(log.lines, [], "no next try is held back");
  t.same(await shell.reconcile("ns/cron"), {});
  queue.stop();
});

t.test("of one that is given up an event tells once, and again when it is changed in vain", async (t) => {
  const { shell, creations, put, queue, events, clock } = scene(["dead"]);
  clock.skip(200 * 60_000);
  await shell.reconcile("ns/dead");
  await shell.reconcile("ns/dead");
  const told =
    "Warning TooManyMissedTimes too many missed start times (> 100) since 2026-01-01T00:00:30Z, and nothing tells that it " +
    "ever ran: no run is started. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
  t.same(events, [told]);
  put("dead", 2, { startingDeadlineSeconds: 7200 });
  await shell.reconcile("ns/dead");
  t.same(events, [told, told]);
  t.equal(creations.length, 0);
  put("dead", 3, { startingDeadlineSeconds: 60 });
  await shell.reconcile("ns/dead");
  t.equal(creations.length, 1);
  t.equal(events.length, 2);
  await creations[0]?.answer();
  queue.stop();
});

t.test("one that is paused before it ever ran is marked as followed, once", async (t) => {
  const { shell, put, queue, stored } = scene([]);
  put("cron", 1, { paused: true });
  await shell.reconcile("ns/cron");
  const metadata = Object(stored.get("cron")?.["metadata"]);
  t.same(metadata.annotations, { "refit.dev/scheduled-since": "2026-01-01T00:00:30Z" });
  const written = metadata.resourceVersion;
  await shell.reconcile("ns/cron");
  t.equal(Object(stored.get("cron")?.["metadata"]).resourceVersion, written);
  await shell.drained();
  queue.stop();
});

// What is made for one that is gone is collected, and would be made again for as long as its watch is away.
t.test("of a cron job that the server does not have any more, or is deleting, no run starts", async (t) => {
  for (const gone of [true, false]) {
    const { shell, creations, stored, clock } = scene(["cron"]);
    const { metadata, ...rest } = stored.get("cron") ?? {};
    if (gone) stored.delete("cron");
    else
      stored.set("cron", {
        ...rest,
        metadata: { ...Object(metadata), deletionTimestamp: "2026-01-01T00:00:59Z" },
      });
    await shell.reconcile("ns/cron");
    await clock.settle();
    t.strictSame(creations, []);
  }
});
