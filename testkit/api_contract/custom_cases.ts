/** Custom resources: validation, pruning, defaults, versions, subresources, removal. */
import assert from "node:assert/strict";
import { type Fields, isFields, listAt, objectsAt, textAt, valueAt } from "../../sandbox/json.ts";
import type { Contract, ContractCase } from "./case.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Group names are the case's own, so that cases do not meet. */
export function groupOf({ namespace }: Contract): string {
  return `${namespace}.example.com`;
}

export function widgetDefinition(group: string): Fields {
  const spec = {
    type: "object",
    required: ["color"],
    properties: {
      replicas: { type: "integer", format: "int32", minimum: 0, maximum: 10, default: 1 },
      color: { type: "string", enum: ["red", "green"] },
      name: { type: "string", pattern: "^[a-z]+$", minLength: 2, maxLength: 5 },
      when: { type: "string", format: "date-time" },
      port: { "x-kubernetes-int-or-string": true },
      tags: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set", maxItems: 3 },
      parts: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: {
          type: "object",
          required: ["name"],
          properties: {
            name: { type: "string" },
            size: { type: "integer" },
            ready: { type: "boolean", default: true },
          },
        },
      },
      extra: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    },
  };
  const status = {
    type: "object",
    properties: { replicas: { type: "integer" }, selector: { type: "string" } },
  };
  const schema = { openAPIV3Schema: { type: "object", required: ["spec"], properties: { spec, status } } };
  const subresources = {
    status: {},
    scale: {
      specReplicasPath: ".spec.replicas",
      statusReplicasPath: ".status.replicas",
      labelSelectorPath: ".status.selector",
    },
  };
  const additionalPrinterColumns = [
    { name: "Color", type: "string", jsonPath: ".spec.color" },
    { name: "Parts", type: "string", priority: 1, jsonPath: ".spec.parts[*].name" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "widgets", kind: "Widget", shortNames: ["wd"] },
      versions: [
        { name: "v1", served: true, storage: true, schema, subresources, additionalPrinterColumns },
        { name: "v1beta1", served: true, storage: false, schema, subresources },
      ],
    },
  };
}

/** Runs with the widgets of a group that is removed afterwards; `base` is the path of the widgets. */
export async function withWidgets(
  contract: Contract,
  run: (base: string, group: string) => Promise<void>,
): Promise<void> {
  const group = groupOf(contract);
  await contract.expect(201, "POST", definitions, { body: widgetDefinition(group) });
  try {
    const base = `/apis/${group}/v1/namespaces/${contract.namespace}/widgets`;
    await contract.until(base, (answer) => answer.code === 200);
    await run(base, group);
  } finally {
    await contract.call("DELETE", `${definitions}/widgets.${group}`);
    await contract.until(`${definitions}/widgets.${group}`, (answer) => answer.code === 404);
  }
}

export function widget(group: string, name: string, spec: Fields): Fields {
  return { apiVersion: `${group}/v1`, kind: "Widget", metadata: { name }, spec };
}

const merge = "application/merge-patch+json";

export const customCases: readonly ContractCase[] = [
  {
    name: "serves custom resources with defaults, pruned",
    run: (contract) =>
      withWidgets(contract, async (base, group) => {
        const body = widget(group, "w", {
          color: "red",
          unknown: 1,
          parts: [{ name: "a", other: 2, size: null, ready: null }],
          when: null,
          tags: null,
          extra: { kept: { deep: 1, nothing: null } },
        });
        const made = await contract.call("POST", base, { body });
        assert.equal(made.code, 201, made.text);
        assert.deepEqual(made.json["spec"], {
          color: "red",
          replicas: 1,
          parts: [{ name: "a", ready: true }],
          extra: { kept: { deep: 1, nothing: null } },
        });
        assert.deepEqual(String(made.headers["warning"]).split(/,\s*/), [
          '299 - "unknown field \\"spec.parts[0].other\\""',
          '299 - "unknown field \\"spec.unknown\\""',
        ]);
        const strict = await contract.call("POST", `${base}?fieldValidation=Strict`, {
          body: { ...body, metadata: { name: "s" } },
        });
        assert.equal(strict.code, 400);
        assert.match(textAt(strict.json, "message"), /^.*strict decoding error: unknown field "spec.*"$/);
        const definition = await contract.expect(200, "GET", `${definitions}/widgets.${group}`);
        assert.deepEqual(valueAt(definition, "status", "storedVersions"), ["v1"]);
        assert.equal(valueAt(definition, "spec", "names", "singular"), "widget");
        const types = objectsAt(definition, "status", "conditions").filter((one) => one["status"] === "True");
        assert.deepEqual(types.map((one) => one["type"]).sort(), ["Established", "NamesAccepted"]);
      }),
  },
  {
    name: "forgives what is stored and does not change when a schema gets stricter",
    run: (contract) =>
      withWidgets(contract, async (base, group) => {
        await contract.expect(201, "POST", base, { body: widget(group, "w", { color: "red" }) });
        const versions = objectsAt(widgetDefinition(group), "spec", "versions");
        const text = JSON.stringify({ spec: { versions } }).replaceAll('["red","green"]', '["green"]');
        const body: unknown = JSON.parse(text);
        await contract.expect(200, "PATCH", `${definitions}/widgets.${group}`, { body, type: merge });
        const other = { body: widget(group, "x", { color: "red" }) };
        // A real server takes a moment to see a new schema.
        for (let attempt = 0; attempt < 200; attempt++) {
          if ((await contract.call("POST", `${base}?dryRun=All`, other)).code === 422) break;
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        assert.equal((await contract.call("POST", base, other)).code, 422);
        const patch = (spec: Fields) => contract.call("PATCH", `${base}/w`, { body: { spec }, type: merge });
        assert.equal((await patch({ replicas: 3 })).code, 200);
        assert.equal((await patch({ color: "blue" })).code, 422);
        const status = { body: { status: { replicas: 3 } }, type: merge };
        assert.equal((await contract.call("PATCH", `${base}/w/status`, status)).code, 200);
      }),
  },
  {
    name: "merges strategic patches of definitions: members of objects, whole lists",
    run: (contract) =>
      withWidgets(contract, async (_base, group) => {
        const path = `${definitions}/widgets.${group}`;
        const patch = (body: Fields) =>
          contract.expect(200, "PATCH", path, { body, type: "application/strategic-merge-patch+json" });
        const named = await patch({ spec: { names: { shortNames: ["wi", "wt"] } } });
        assert.deepEqual(valueAt(named, "spec", "names", "shortNames"), ["wi", "wt"]);
        assert.equal(valueAt(named, "spec", "names", "kind"), "Widget");
        const [first = {}] = objectsAt(widgetDefinition(group), "spec", "versions");
        const old = { ...first, name: "v1alpha1", storage: false };
        const versions = await patch({ spec: { versions: [first, old] } });
        assert.deepEqual(
          objectsAt(versions, "spec", "versions").map(({ name }) => name),
          ["v1", "v1alpha1"],
        );
      }),
  },
  {
    name: "validates custom resources",
    run: (contract) =>
      withWidgets(contract, async (base, group) => {
        const spec = {
          color: "blue",
          replicas: 11,
          name: "A",
          when: "x",
          tags: ["a", "a"],
          parts: [{ name: "a" }, { name: "a" }, { size: 1 }],
          port: true,
        };
        const refused = await contract.call("POST", base, { body: widget(group, "w", spec) });
        assert.equal(refused.code, 422);
        const causes = objectsAt(refused.json, "details", "causes").map(
          (one) => `${textAt(one, "field")}: ${textAt(one, "message")} (${textAt(one, "reason")})`,
        );
        assert.deepEqual(
          causes.sort(),
          [
            'spec.color: Unsupported value: "blue": supported values: "red", "green" (FieldValueNotSupported)',
            'spec.name: Invalid value: "A": spec.name in body should be at least 2 chars long (FieldValueInvalid)',
            'spec.parts[1]: Duplicate value: {"name":"a"} (FieldValueDuplicate)',
            "spec.parts[2].name: Required value (FieldValueRequired)",
            'spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean" (FieldValueTypeInvalid)',
            "spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10 (FieldValueInvalid)",
            'spec.tags[1]: Duplicate value: "a" (FieldValueDuplicate)',
            'spec.when: Invalid value: "x": spec.when in body must be of type date-time: "x" (FieldValueTypeInvalid)',
          ].sort(),
        );
        const typed = await contract.call("POST", base, {
          body: widget(group, "w", {
            color: "red",
            replicas: "1",
            name: "aaaaaa",
            tags: ["a", "b", "c", "d"],
          }),
        });
        assert.deepEqual(
          objectsAt(typed.json, "details", "causes")
            .map((one) => `${textAt(one, "field")}: ${textAt(one, "message")}`)
            .sort(),
          [
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 1 is of the type string, expected int64",
            "spec.name: Too long: may not be more than 5 bytes",
            'spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"',
            "spec.tags: Too many: 4: must have at most 3 items",
          ],
        );
        const missing = await contract.call("POST", base, { body: { metadata: { name: "w" } } });
        assert.equal(missing.code, 400, missing.text);
      }),
  },
  {
    name: "counts generations of custom resources and keeps status apart",
    run: (contract) =>
      withWidgets(contract, async (base, group) => {
        const body = { ...widget(group, "w", { color: "red" }), status: { replicas: 5 } };
        const made = await contract.expect(201, "POST", base, { body });
        assert.equal(made["status"], undefined);
        assert.equal(valueAt(made, "metadata", "generation"), 1);
        const labelled = await contract.expect(200, "PATCH", `${base}/w`, {
          type: merge,
          body: { metadata: { labels: { a: "b" } } },
        });
        assert.equal(valueAt(labelled, "metadata", "generation"), 1);
        const status = await contract.expect(200, "PATCH", `${base}/w/status`, {
          type: merge,
          body: {
            metadata: { labels: { c: "d" } },
            spec: { color: "green" },
            status: { replicas: 3, selector: "a=b" },
          },
        });
        assert.equal(valueAt(status, "spec", "color"), "red");
        assert.deepEqual(valueAt(status, "metadata", "labels"), { a: "b" });
        assert.equal(valueAt(status, "metadata", "generation"), 1);
        const scale = await contract.expect(200, "GET", `${base}/w/scale`);
        assert.deepEqual(
          [scale["spec"], scale["status"]],
          [{ replicas: 1 }, { replicas: 3, selector: "a=b" }],
        );
        await contract.expect(200, "PATCH", `${base}/w/scale`, {
          type: merge,
          body: { spec: { replicas: 4 } },
        });
        const scaled = await contract.expect(200, "GET", `${base}/w`);
        assert.equal(valueAt(scaled, "spec", "replicas"), 4);
        assert.equal(valueAt(scaled, "metadata", "generation"), 2);
      }),
  },
  {
    name: "shows custom resources in all served versions",
    run: (contract) =>
      withWidgets(contract, async (base, group) => {
        await contract.expect(201, "POST", base, { body: widget(group, "w", { color: "red" }) });
        const older = await contract.expect(200, "GET", `${base.replace("/v1/", "/v1beta1/")}/w`);
        assert.equal(older["apiVersion"], `${group}/v1beta1`);
        assert.deepEqual(older["spec"], { color: "red", replicas: 1 });
        const list = await contract.expect(200, "GET", base.replace("/v1/", "/v1beta1/"));
        assert.equal(textAt(listAt(list, "items")[0], "apiVersion"), `${group}/v1beta1`);
        const groupDocument = await contract.expect(200, "GET", `/apis/${group}`);
        assert.equal(valueAt(groupDocument, "preferredVersion", "version"), "v1");
      }),
  },
  {
    name: "asks for a version when custom resources are put",
    run: (contract) =>
      withWidgets(contract, async (base, group) => {
        await contract.expect(201, "POST", base, { body: widget(group, "w", { color: "red" }) });
        const refused = await contract.call("PUT", `${base}/w`, {
          body: widget(group, "w", { color: "green" }),
        });
        assert.equal(refused.code, 422);
        assert.equal(
          textAt(refused.json, "message"),
          `widgets.${group} "w" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`,
        );
        const strategic = await contract.call("PATCH", `${base}/w`, {
          type: "application/strategic-merge-patch+json",
          body: {},
        });
        assert.equal(strategic.code, 415);
        assert.equal(
          textAt(strategic.json, "message"),
          "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        );
      }),
  },
  {
    name: "tells kubectl by its description that custom resources take no strategic patches",
    run: (contract) =>
      withWidgets(contract, async (base, group) => {
        const patchOf = async (path: string, item: string): Promise<string[]> => {
          // Descriptions of new definitions are published a moment after the definitions are served.
          const described = await contract.until(`/openapi/v3/${path}`, (answer) => answer.code === 200);
          const content = valueAt(described.json, "paths", item, "patch", "requestBody", "content");
          return Object.keys(isFields(content) ? content : {});
        };
        const version = base.split("/")[3] ?? "";
        const item = `/apis/${group}/${version}/namespaces/{namespace}/widgets/{name}`;
        const custom = await patchOf(`apis/${group}/${version}`, item);
        assert.ok(custom.includes("application/merge-patch+json"), custom.join());
        assert.ok(!custom.includes("application/strategic-merge-patch+json"), custom.join());
        const builtin = await patchOf("api/v1", "/api/v1/namespaces/{namespace}/pods/{name}");
        assert.ok(builtin.includes("application/strategic-merge-patch+json"), builtin.join());
      }),
  },
  {
    name: "applies custom resources by the keys of their lists",
    run: (contract) =>
      withWidgets(contract, async (base, group) => {
        const apply = (manager: string, spec: Fields) =>
          contract.call("PATCH", `${base}/w?fieldManager=${manager}`, {
            type: "application/apply-patch+yaml",
            body: widget(group, "w", spec),
          });
        assert.equal((await apply("one", { color: "red", parts: [{ name: "a", size: 1 }] })).code, 201);
        assert.equal((await apply("two", { color: "red", parts: [{ name: "b", size: 2 }] })).code, 200);
        const refused = await apply("two", { color: "red", parts: [{ name: "a", size: 2 }] });
        assert.equal(
          textAt(refused.json, "message"),
          `Apply failed with 1 conflict: conflict with "one": .spec.parts[name="a"].size`,
        );
        const left = await apply("one", { color: "red" });
        assert.deepEqual(valueAt(left.json, "spec", "parts"), [{ name: "b", ready: true, size: 2 }]);
      }),
  },
  {
    name: "removes the objects of a definition with it",
    async run(contract) {
      const group = groupOf(contract);
      await withWidgets(contract, async (base) => {
        await contract.expect(201, "POST", base, { body: widget(group, "w", { color: "red" }) });
      });
      await contract.until(
        `/apis/${group}/v1/namespaces/${contract.namespace}/widgets`,
        (answer) => answer.code === 404,
      );
    },
  },
];
