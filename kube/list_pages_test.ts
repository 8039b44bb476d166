import fc from "fast-check";
import t from "tap";
import { fakeServer } from "../testkit/kube/fake_server.ts";
import type { Client } from "./client_types.ts";
import { jsonResource } from "./codecs/json.ts";
import { listAll } from "./list_pages.ts";

const widgets = jsonResource({
  group: "example.io",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
});

t.test("property: all items of all pages, each asked for with the token of the one before", async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(fc.nat(99)), { minLength: 1, maxLength: 6 }), async (pages) => {
      const asked: (string | undefined)[] = [];
      const client: Client = {
        ...fakeServer().client,
        async list(resource, { continue: token, namespace } = {}) {
          asked.push(`${namespace} ${token ?? "first"}`);
          const index = Number(token ?? 0);
          const items = (pages[index] ?? []).map((number) =>
            resource.codec.decode(
              Buffer.from(JSON.stringify({ metadata: { name: `w${number}` } })),
              "application/json",
            ),
          );
          const next = index + 1 < pages.length ? String(index + 1) : "";
          return { items, resourceVersion: "1", continue: next, undecodable: [] };
        },
      };
      const found = await listAll(client, widgets, { namespace: "ns" });
      t.same(
        found.map(({ metadata }) => metadata.name),
        pages.flat().map((number) => `w${number}`),
      );
      t.same(
        asked,
        pages.map((_, index) => `ns ${index === 0 ? "first" : index}`),
      );
    }),
    { seed: 20_261_122, numRuns: 200 },
  );
});
