/** Every generated definition has the structure of the reference data in testdata/. */
import { readdirSync, readFileSync } from "node:fs";
import t from "tap";
import { labelSelector } from "./dsl.ts";
import { customResourceDefinition, definitionName, kinds, openApiSchema } from "./index.ts";

const testdata = new URL("./testdata/", import.meta.url);
const references = readdirSync(testdata).map((file) => file.replace(/\.json$/, ""));
const selector = bare(openApiSchema(labelSelector("")));

/** Without descriptions; the reference's marks for core types are expanded. */
function bare(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) return value.map((entry) => bare(entry));
  if (typeof value !== "object" || value === null) return value;
  if ("$core" in value) return selector;
  const entries = Object.entries(value)
    .filter(([name, entry]) => !(name === "description" && key !== "properties" && typeof entry === "string"))
    .map(([name, entry]): [string, unknown] => [name, bare(entry, name)]);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The reference leaves the metadata of what a cron job makes without members, so that servers drop the labels and
 * annotations that it would copy: kept here.
 */
function keepingMetadata(key: string, value: unknown): unknown {
  if (key !== "broadcastJobTemplate" && key !== "imageListPullJobTemplate") return value;
  const metadata = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return { ...Object(value), properties: { ...Object(value).properties, metadata } };
}

t.test("the registry and the reference name the same kinds", async (t) => {
  t.strictSame(
    kinds.map((kind) => kind.plural).sort(),
    references.sort(),
    "crds/testdata/ has PLURAL.json of each kind, and no other",
  );
});

for (const kind of kinds) {
  t.test(`${definitionName(kind)} has the structure of the reference`, async (t) => {
    const reference: unknown = JSON.parse(
      readFileSync(new URL(`${kind.plural}.json`, testdata), "utf8"),
      keepingMetadata,
    );
    const { spec } = customResourceDefinition(kind);
    const generated = {
      group: spec.group,
      names: spec.names,
      scope: spec.scope,
      versions: spec.versions.map(({ additionalPrinterColumns, schema, ...version }) => ({
        ...version,
        deprecated: false,
        columns: additionalPrinterColumns ?? [],
        schema: schema.openAPIV3Schema,
      })),
    };
    t.strictSame(bare(generated), bare(reference));
  });
}
