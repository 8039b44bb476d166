import t, { type Test } from "tap";
import type { NodeImage } from "../../../crds/index.ts";
import { createMergePatch, type JsonObject } from "../../../kube/core/index.ts";
import {
  Cache,
  type Client,
  isKubeError,
  KubeError,
  type Random,
  seededRandom,
} from "../../../kube/index.ts";
import { sharedDeps } from "../../../testkit/controller/kind_deps_builder.ts";
import { type TestClock, testClock } from "../../../testkit/kube/fake_clock.ts";
import { type FakeServer, fakeServer } from "../../../testkit/kube/fake_server.ts";
import type { Edit } from "../../plan/effects.ts";
import { nodeImageResource } from "../../plan/resources.ts";
import { Executor } from "./executor.ts";
import { writable } from "./writable.ts";

const plural = "nodeimages.apps.kruise.io";
const tags = [{ tag: "1", createdAt: "2026-01-01T00:00:00Z" }];

/** The type of an edit is the image that it adds an entry for. */
function patchOf({ spec }: NodeImage, edits: readonly Edit[]): object | undefined {
  const added = edits.filter(({ type }) => !Object.hasOwn(spec.images ?? {}, type));
  const images = { ...spec.images, ...Object.fromEntries(added.map(({ type }) => [type, { tags }])) };
  return added.length === 0 ? undefined : { spec: createMergePatch(spec, { ...spec, images }) };
}

async function withNodeImage(server: FakeServer): Promise<FakeServer> {
  await server.client.create(nodeImageResource, undefined, {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "NodeImage",
    metadata: { name: "n", uid: "u" },
    spec: {},
  });
  return server;
}

/** One controller that edits the NodeImage through `client`, and knows it as it is. */
async function writerOver(known: Client, client: Client, clock: TestClock, random: Random) {
  const objects = new Cache<NodeImage>({ identify: nodeImageResource.codec.identify });
  objects.upsert(await known.get(nodeImageResource, { name: "n" }));
  const ended = new Map<string, (error: unknown) => void>();
  const executor = new Executor(sharedDeps(client, clock), {
    writes: {
      nodeimages: writable(nodeImageResource, {
        writeBack: (nodeImage) => objects.writeBack(nodeImage),
        removed: (key, uid) => objects.remove(key, uid),
        edits: { get: (key) => objects.get(key), patchOf, clock, random },
      }),
    },
    editEnded: (key, uid, { edit }, { error }) => ended.get(`${key} ${uid} ${edit.type}`)?.(error),
  });
  /** By an object of its own; resolves with how it ended. */
  const write = (type: string): Promise<unknown> => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    ended.set(`ns/${type} uid-${type} ${type}`, resolve);
    const subject = { key: `ns/${type}`, uid: `uid-${type}`, about: undefined, flow: type };
    const effect = { type: "edit", resource: "nodeimages", name: "n", edit: { type } } as const;
    void executor.execute(subject, effect, new Map());
    return promise;
  };
  return { objects, executor, write };
}

function storedIn(server: FakeServer): JsonObject {
  const spec = server.object(plural, "n")?.["spec"];
  return Object(Object(spec).images);
}

async function world(patch?: Client["patch"]) {
  const clock = testClock();
  const server = await withNodeImage(fakeServer());
  const { client } = server;
  const used: Client = patch === undefined ? client : { ...client, patch };
  const writer = await writerOver(client, used, clock, seededRandom(1));
  return { ...writer, server, clock, stored: () => storedIn(server) };
}

/** What is sent is 1 to 20 ms on its way, and so is the answer. Counts what is sent. */
function slow(client: Client, clock: TestClock, random: Random, sent: () => void): Client {
  const travels = () => clock.sleep(1 + 19 * random());
  return {
    ...client,
    async get(resource, ref, options) {
      sent();
      await travels();
      const found = await client.get(resource, ref, options);
      await travels();
      return found;
    },
    async patch(resource, ref, patch, options) {
      sent();
      await travels();
      const answer = client.patch(resource, ref, patch, options);
      await Promise.allSettled([answer]);
      await travels();
      return answer;
    },
  };
}

t.test("edits of several plans in one turn are one patch", async (t) => {
  const { server, write, stored } = await world();
  await Promise.all(["a", "b", "c"].map(write));
  t.same(Object.keys(stored()), ["a", "b", "c"]);
  t.same(server.writes, ["create nodeimages n", "patch nodeimages n"]);
  await write("a");
  t.equal(server.writes.length, 2, "what is there already needs none");
});

t.test("another's write is taken up, not overwritten", async (t) => {
  const { server, clock, objects, write, stored } = await world();
  const patch = { type: "merge", body: { spec: { images: { other: { tags } } } } } as const;
  await server.client.patch(nodeImageResource, { name: "n" }, patch);
  const ended = write("mine");
  await clock.advance(15);
  t.equal(await ended, undefined);
  t.same(Object.keys(stored()).sort(), ["mine", "other"]);
  t.same(Object.keys(objects.get("n")?.spec.images ?? {}).sort(), ["mine", "other"]);
});

t.test("an edit that is refused does not take the others with it", async (t) => {
  const base = await world();
  const refusing = await world((resource, ref, patch, options) =>
    JSON.stringify(patch).includes('"bad"')
      ? Promise.reject(new KubeError("BadRequest", "refused"))
      : base.server.client.patch(resource, ref, patch, options),
  );
  const [good, bad, fine] = await Promise.all(["good", "bad", "fine"].map(refusing.write));
  t.same([good, fine], [undefined, undefined]);
  t.ok(isKubeError(bad, "BadRequest"));
  t.same(Object.keys(base.stored()).sort(), ["fine", "good"]);
});

t.test(
  "a race that is lost again and again is lost by all edits, and those after them hardly try",
  async (t) => {
    let patches = 0;
    const { clock, write } = await world(() => {
      patches++;
      return Promise.reject(new KubeError("Conflict", "somebody else was faster"));
    });
    /** Three jobs, each with a pause of a second after its edit has failed. */
    const insist = async (type: string): Promise<void> => {
      for (;;) {
        t.ok(isKubeError(await write(type), "Conflict"));
        await clock.sleep(1_000);
      }
    };
    for (const type of ["a", "b", "c"]) void insist(type);
    await clock.advance(1_000);
    t.equal(patches, 5, "the first tries are those of all");
    await clock.advance(10_000);
    t.ok(patches > 6 && patches < 12, `${patches} patches`);
  },
);

t.test("who has got in at last is quick again", async (t) => {
  let refusals = 7;
  const base = await world();
  const { clock, write } = await world((...call) =>
    refusals-- > 0 ? Promise.reject(new KubeError("Conflict", "no")) : base.server.client.patch(...call),
  );
  const first = write("a");
  await clock.advance(1_000);
  t.ok(isKubeError(await first, "Conflict"));
  for (const type of ["b", "c", "d"]) {
    void write(type);
    await clock.advance(5_000);
  }
  refusals = 1;
  const last = write("e");
  await clock.advance(15);
  t.equal(await last, undefined);
  t.ok(base.stored()["d"] && base.stored()["e"]);
});

t.test("a server that has no time for a patch is not asked for each of its edits", async (t) => {
  let patches = 0;
  const { write } = await world(() => {
    patches++;
    return Promise.reject(new KubeError("TooManyRequests", "later"));
  });
  await Promise.all(["a", "b", "c"].map(write));
  t.equal(patches, 1);
});

/** Controllers edit one object at once, and come again a second after they gave up; returns requests of each on average. */
async function contention(t: Test, seed: number): Promise<number> {
  const random = seededRandom(seed);
  const clock = testClock();
  const server = await withNodeImage(fakeServer());
  const names = Array.from({ length: 2 + Math.floor(random() * 9) }, (_, number) => `${number}`);
  let requests = 0;
  let written = 0;
  for (const name of names) {
    const client = slow(server.client, clock, random, () => requests++);
    const { write } = await writerOver(server.client, client, clock, random);
    const insist = async (): Promise<void> => {
      while ((await write(name)) !== undefined) await clock.sleep(1_000);
      written++;
    };
    void insist();
  }
  await clock.advance(5_000);
  t.equal(written, names.length, `seed ${seed}: ${names.length} controllers`);
  t.same(Object.keys(storedIn(server)).sort(), names.sort());
  return requests / names.length;
}

t.test("however many controllers contend for an object, all get in, with a few requests each", async (t) => {
  for (let seed = 1; seed <= 40; seed++) {
    const each = await contention(t, seed);
    t.ok(each <= 7, `seed ${seed}: ${each} requests of each`);
  }
});

t.test("an object that is gone is gone here, too", async (t) => {
  const { server, objects, write, executor } = await world();
  server.remove(plural, "n");
  t.equal(await write("a"), undefined);
  t.equal(objects.get("n"), undefined);
  t.equal(await write("a"), undefined);
  await executor.drained();
  t.equal(server.size, 0);
});

t.test("a pass does not wait for its edits, what drains does", async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const base = await world();
  const { write, executor } = await world(async (...call) => {
    await promise;
    return base.server.client.patch(...call);
  });
  let isDrained = false;
  const ended = write("a");
  const drained = executor.drained().then(() => {
    isDrained = true;
  });
  await new Promise(setImmediate);
  t.notOk(isDrained);
  resolve();
  t.equal(await ended, undefined);
  await drained;
});
