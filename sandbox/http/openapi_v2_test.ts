import fc from "fast-check";
import protobuf from "protobufjs";
import t from "tap";
import { systemClock } from "../../kube/core/index.ts";
import { widgetDefinition } from "../../testkit/api_contract/custom_cases.ts";
import { credentialsOf, openTarget } from "../../testkit/api_contract/target.ts";
import { kubectlFor, withoutKubectl } from "../../testkit/sandbox/kubectl.ts";
import { type Fields, listAt, valueAt } from "../json.ts";
import { startSandbox } from "../start.ts";
import { documentBytes, schemaV2 } from "./openapi_v2.ts";

const reference = new protobuf.Root()
  .loadSync("proto/openapi/openapi.proto", { keepCase: true })
  .lookupType("openapi.v2.Document");

function decoded(schema: Fields): unknown {
  const bytes = documentBytes({ swagger: "2.0", definitions: { it: schema } });
  const document: unknown = reference.toObject(reference.decode(bytes), { longs: Number });
  const [named] = listAt(document, "definitions", "additional_properties");
  return valueAt(named, "value");
}

t.test("version 2 has direct references, and neither alternatives nor null", async (t) => {
  const reference = { $ref: "#/components/schemas/io.k8s.api.core.v1.PodSpec" };
  t.same(schemaV2({ description: "x", allOf: [reference], default: {} }), {
    description: "x",
    default: {},
    $ref: "#/definitions/io.k8s.api.core.v1.PodSpec",
  });
  t.same(schemaV2({ oneOf: [{ type: "integer" }, { type: "string" }], format: "int-or-string" }), {
    type: "string",
    format: "int-or-string",
  });
  t.same(schemaV2({ "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }] }), {
    "x-kubernetes-int-or-string": true,
  });
  t.same(schemaV2({ type: "object", properties: { a: { type: "string", nullable: true } } }), {
    type: "object",
    properties: { a: {} },
  });
  t.same(schemaV2({ type: "array", items: reference }), {
    type: "array",
    items: { $ref: "#/definitions/io.k8s.api.core.v1.PodSpec" },
  });
});

t.test("a schema arrives whole at an independent reader", async (t) => {
  t.match(
    decoded({
      type: "object",
      required: ["color"],
      properties: { color: { type: "string", enum: ["red"], maxLength: 5 }, size: { minimum: 0.5 } },
      additionalProperties: true,
      "x-kubernetes-group-version-kind": [{ group: "g", version: "v1", kind: "K" }],
    }),
    {
      type: { value: ["object"] },
      required: ["color"],
      properties: {
        additional_properties: [
          { name: "color", value: { type: { value: ["string"] }, enum: [{ yaml: '"red"' }], max_length: 5 } },
          { name: "size", value: { minimum: 0.5 } },
        ],
      },
      additional_properties: { boolean: true },
      vendor_extension: [
        {
          name: "x-kubernetes-group-version-kind",
          value: { yaml: '[{"group":"g","version":"v1","kind":"K"}]' },
        },
      ],
    },
  );
});

t.test("no schema of a user breaks the document", async (t) => {
  const json = fc.jsonValue({ maxDepth: 4 });
  const member = fc.constantFrom(
    "$ref",
    "type",
    "items",
    "properties",
    "allOf",
    "minLength",
    "maximum",
    "enum",
    "x-a",
  );
  fc.assert(
    fc.property(fc.dictionary(member, json), (schema) => decoded(schemaV2(schema)) !== undefined),
    { seed: 20_260_101, numRuns: 1_000 },
  );
  t.pass();
});

t.test("answers in the form that a client accepts, and anew for new definitions", async (t) => {
  const sandbox = await startSandbox({ seed: 7, clock: systemClock });
  t.teardown(() => sandbox.stop());
  const target = openTarget(credentialsOf(sandbox.kubeconfig));
  t.teardown(() => target.close());
  const get = (accept: string) => target.call("GET", "/openapi/v2", { accept });
  const before = await get("application/com.github.proto-openapi.spec.v2@v1.0+protobuf");
  t.equal(before.code, 200);
  t.notMatch(before.text, "com.example.v1.Widget");
  sandbox.cluster.create("customresourcedefinitions.apiextensions.k8s.io", {
    metadata: { name: "widgets.example.com" },
    ...widgetDefinition("example.com"),
  });
  const after = await get("application/com.github.proto-openapi.spec.v2@v1.0+protobuf, */*;q=0.1");
  t.match(after.text, "com.example.v1.Widget");
  t.not(after.headers["etag"], before.headers["etag"]);
  t.equal((await get("text/html")).code, 406);
});

t.test(
  "kubectl says that it does not know a kind, and which field of a known one is wrong",
  { skip: withoutKubectl },
  async (t) => {
    const sandbox = await startSandbox({
      seed: 7,
      clock: systemClock,
      crds: [widgetDefinition("example.com")],
    });
    t.teardown(() => sandbox.stop());
    const kubectl = kubectlFor(t, sandbox.kubeconfig);
    const apply = (object: object) => kubectl(["apply", "-f", "-"], object);
    const metadata = { name: "w", namespace: "default" };
    t.match(await apply({ apiVersion: "example.com/v1", kind: "Wigdet", metadata }), {
      stderr: 'no matches for kind "Wigdet" in version "example.com/v1"',
      code: 1,
    });
    const widget = { apiVersion: "example.com/v1", kind: "Widget", metadata };
    t.match(await apply({ ...widget, spec: { colour: "red" } }), { stderr: 'unknown field "spec.colour"' });
    t.match(await apply({ ...widget, spec: { color: "red" } }), { stdout: "created", code: 0 });
    const old = await kubectl(["explain", "widget.spec", "--output", "plaintext-openapiv2"]);
    t.match(old.stdout, /replicas\t<integer>/);
  },
);
