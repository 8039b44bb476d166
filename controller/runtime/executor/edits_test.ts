import t from "tap";
import type { NodeImage } from "../../../crds/index.ts";
import { createMergePatch, type JsonObject } from "../../../kube/core/index.ts";
import { Cache, type Client, isKubeError, KubeError } from "../../../kube/index.ts";
import { sharedDeps } from "../../../testkit/controller/kind_deps_builder.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
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

async function world(patch?: Client["patch"]) {
  const server = fakeServer();
  const { client } = server;
  const body = {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "NodeImage",
    metadata: { name: "n", uid: "u" },
    spec: {},
  };
  const objects = new Cache<NodeImage>({ identify: nodeImageResource.codec.identify });
  objects.upsert(await client.create(nodeImageResource, undefined, body));
  const used: Client = patch === undefined ? client : { ...client, patch };
  const ended = new Map<string, (error: unknown) => void>();
  const executor = new Executor(sharedDeps(used, testClock()), {
    writes: {
      nodeimages: writable(nodeImageResource, {
        writeBack: (nodeImage) => objects.writeBack(nodeImage),
        removed: (key, uid) => objects.remove(key, uid),
        edits: { get: (key) => objects.get(key), patchOf },
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
  const stored = (): JsonObject => {
    const spec = server.object(plural, "n")?.["spec"];
    return Object(Object(spec).images);
  };
  return { server, objects, executor, write, stored };
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
  const { server, objects, write, stored } = await world();
  const patch = { type: "merge", body: { spec: { images: { other: { tags } } } } } as const;
  await server.client.patch(nodeImageResource, { name: "n" }, patch);
  await write("mine");
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
  "a race that is lost again and again is lost by all edits of the patch, and not tried for each",
  async (t) => {
    let patches = 0;
    const { write } = await world(() => {
      patches++;
      return Promise.reject(new KubeError("Conflict", "somebody else was faster"));
    });
    await write("a");
    const patchesOfOne = patches;
    const errors = await Promise.all(["b", "c", "d"].map(write));
    t.ok(errors.every((error) => isKubeError(error, "Conflict")));
    t.equal(patches, 2 * patchesOfOne);
  },
);

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
