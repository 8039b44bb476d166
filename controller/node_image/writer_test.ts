import t from "tap";
import type { NodeImage } from "../../crds/index.ts";
import type { JsonObject } from "../../kube/core/index.ts";
import { Cache, type Client, isKubeError, KubeError } from "../../kube/index.ts";
import { memoryClient } from "../../testkit/kube/fake_store.ts";
import { nodeImageResource } from "./resource.ts";
import { type Edit, NodeImageWriter } from "./writer.ts";

const tags = [{ tag: "1", createdAt: "2026-01-01T00:00:00Z" }];

/** Adds an entry for the image. */
function adding(name: string): Edit {
  return ({ spec }) =>
    Object.hasOwn(spec.images ?? {}, name) ? spec : { ...spec, images: { ...spec.images, [name]: { tags } } };
}

async function world(patch?: Client["patch"]) {
  const client = memoryClient();
  const body = {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "NodeImage",
    metadata: { name: "n", uid: "u" },
    spec: {},
  };
  const objects = new Cache<NodeImage>({ identify: nodeImageResource.codec.identify });
  objects.upsert(await client.create(nodeImageResource, undefined, body));
  const used: Client = patch === undefined ? client : { ...client, patch };
  const { signal } = new AbortController();
  const writer = new NodeImageWriter({ client: used, resource: nodeImageResource, objects, signal });
  const stored = (): JsonObject => {
    const spec = client.objects.get("nodeimages/n")?.["spec"];
    return Object(Object(spec).images);
  };
  return { client, objects, writer, stored };
}

t.test("what several jobs wish in one turn is one patch", async (t) => {
  const { client, writer, stored } = await world();
  client.writes.length = 0;
  await Promise.all(["a", "b", "c"].map((name) => writer.write("n", adding(name))));
  t.same(Object.keys(stored()), ["a", "b", "c"]);
  t.equal(client.writes.length, 1);
  await writer.write("n", adding("a"));
  t.equal(client.writes.length, 1, "what is there already needs none");
});

t.test("another's write is taken up, not overwritten", async (t) => {
  const { client, objects, writer, stored } = await world();
  const patch = { type: "merge", body: { spec: { images: { other: { tags } } } } } as const;
  await client.patch(nodeImageResource, { name: "n" }, patch);
  await writer.write("n", adding("mine"));
  t.same(Object.keys(stored()).sort(), ["mine", "other"]);
  t.same(Object.keys(objects.get("n")?.spec.images ?? {}).sort(), ["mine", "other"]);
});

t.test("a wish that is refused does not take the others with it", async (t) => {
  const base = await world();
  const refusing = await world((resource, ref, patch, options) =>
    JSON.stringify(patch).includes('"bad"')
      ? Promise.reject(new KubeError("BadRequest", "refused"))
      : base.client.patch(resource, ref, patch, options),
  );
  const wishes = ["good", "bad", "fine"].map((name) => refusing.writer.write("n", adding(name)));
  const outcomes = await Promise.allSettled(wishes);
  t.same(
    outcomes.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  const [, bad] = outcomes;
  t.ok(bad?.status === "rejected" && isKubeError(bad.reason, "BadRequest"));
  t.same(Object.keys(base.stored()).sort(), ["fine", "good"]);
});

t.test("a NodeImage that is gone is gone here, too", async (t) => {
  const { client, objects, writer } = await world();
  client.objects.delete("nodeimages/n");
  await writer.write("n", adding("a"));
  t.equal(objects.get("n"), undefined);
  await writer.write("n", adding("a"));
  await writer.drained();
  t.equal(client.objects.size, 0);
});
