import t from "tap";
import type { NodeImage } from "../../../crds/index.ts";
import type { JsonObject } from "../../../kube/core/index.ts";
import { Cache, type Client, isKubeError, KubeError } from "../../../kube/index.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import { nodeImageResource } from "../../plan/resources.ts";
import { type Edit, NodeImageWriter } from "./node_image_writer.ts";

const plural = "nodeimages.apps.kruise.io";
const tags = [{ tag: "1", createdAt: "2026-01-01T00:00:00Z" }];

/** Adds an entry for the image. */
function adding(name: string): Edit {
  return ({ spec }) =>
    Object.hasOwn(spec.images ?? {}, name) ? spec : { ...spec, images: { ...spec.images, [name]: { tags } } };
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
  const { signal } = new AbortController();
  const writer = new NodeImageWriter({
    client: used,
    writer: used,
    resource: nodeImageResource,
    objects,
    signal,
  });
  const stored = (): JsonObject => {
    const spec = server.object(plural, "n")?.["spec"];
    return Object(Object(spec).images);
  };
  return { server, objects, writer, stored };
}

t.test("what several jobs wish in one turn is one patch", async (t) => {
  const { server, writer, stored } = await world();
  await Promise.all(["a", "b", "c"].map((name) => writer.write("n", adding(name))));
  t.same(Object.keys(stored()), ["a", "b", "c"]);
  t.same(server.writes, ["create nodeimages n", "patch nodeimages n"]);
  await writer.write("n", adding("a"));
  t.equal(server.writes.length, 2, "what is there already needs none");
});

t.test("another's write is taken up, not overwritten", async (t) => {
  const { server, objects, writer, stored } = await world();
  const patch = { type: "merge", body: { spec: { images: { other: { tags } } } } } as const;
  await server.client.patch(nodeImageResource, { name: "n" }, patch);
  await writer.write("n", adding("mine"));
  t.same(Object.keys(stored()).sort(), ["mine", "other"]);
  t.same(Object.keys(objects.get("n")?.spec.images ?? {}).sort(), ["mine", "other"]);
});

t.test("a wish that is refused does not take the others with it", async (t) => {
  const base = await world();
  const refusing = await world((resource, ref, patch, options) =>
    JSON.stringify(patch).includes('"bad"')
      ? Promise.reject(new KubeError("BadRequest", "refused"))
      : base.server.client.patch(resource, ref, patch, options),
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
  const { server, objects, writer } = await world();
  server.remove(plural, "n");
  await writer.write("n", adding("a"));
  t.equal(objects.get("n"), undefined);
  await writer.write("n", adding("a"));
  await writer.drained();
  t.equal(server.size, 0);
});
