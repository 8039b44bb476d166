/** Server-side apply: ownership, conflicts, giving fields up. */
import assert from "node:assert/strict";
import { type Fields, isFields, listAt, textAt, valueAt } from "../../sandbox/json.ts";
import type { Contract, ContractCase } from "./case.ts";
import { podBody } from "./objects.ts";
import type { Answer } from "./target.ts";

function apply(contract: Contract, manager: string, object: Fields, force = false): Promise<Answer> {
  const name = textAt(object, "metadata", "name");
  const query = `fieldManager=${manager}${force ? "&force=true" : ""}`;
  return contract.call("PATCH", `${contract.path("configmaps", name)}?${query}`, {
    type: "application/apply-patch+yaml",
    body: object,
  });
}

function map(data: Fields): Fields {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" }, data };
}

function ownedBy(object: unknown, manager: string): unknown {
  const entry = listAt(object, "metadata", "managedFields").find(
    (one) => isFields(one) && one["manager"] === manager,
  );
  return valueAt(entry, "fieldsV1");
}

export const applyCases: readonly ContractCase[] = [
  {
    name: "creates and owns what is applied",
    async run(contract) {
      const made = await apply(contract, "one", map({ a: "1", b: "1" }));
      assert.equal(made.code, 201, made.text);
      assert.deepEqual(ownedBy(made.json, "one"), { "f:data": { "f:a": {}, "f:b": {} } });
      const again = await apply(contract, "one", map({ a: "1" }));
      assert.equal(again.code, 200);
      assert.deepEqual(again.json["data"], { a: "1" });
    },
  },
  {
    name: "stops tracking when the managers are reset, until somebody applies",
    async run(contract) {
      const path = contract.path("configmaps", "m");
      const merge = (body: Fields) =>
        contract.call("PATCH", path, { type: "application/merge-patch+json", body });
      await apply(contract, "one", map({ a: "1" }));
      const reset = await merge({ metadata: { managedFields: [{}] }, data: { b: "1" } });
      assert.equal(reset.code, 200, reset.text);
      assert.equal(valueAt(reset.json, "metadata", "managedFields"), undefined);
      const written = await merge({ data: { c: "1" } });
      assert.equal(valueAt(written.json, "metadata", "managedFields"), undefined);
      const applied = await apply(contract, "two", map({ d: "1" }));
      assert.deepEqual(ownedBy(applied.json, "two"), { "f:data": { "f:d": {} } });
    },
  },
  {
    name: "refuses to take over fields, unless forced",
    async run(contract) {
      await apply(contract, "one", map({ a: "1" }));
      const refused = await apply(contract, "two", map({ a: "2", c: "1" }));
      assert.equal(refused.code, 409);
      assert.equal(
        textAt(refused.json, "message"),
        'Apply failed with 1 conflict: conflict with "one": .data.a',
      );
      assert.deepEqual(valueAt(refused.json, "details", "causes"), [
        { reason: "FieldManagerConflict", message: 'conflict with "one"', field: ".data.a" },
      ]);
      const forced = await apply(contract, "two", map({ a: "2", c: "1" }), true);
      assert.equal(forced.code, 200);
      assert.equal(ownedBy(forced.json, "one"), undefined);
      assert.deepEqual(ownedBy(forced.json, "two"), { "f:data": { "f:a": {}, "f:c": {} } });
    },
  },
  {
    name: "names all conflicts of all owners",
    async run(contract) {
      await apply(contract, "one", map({ a: "1", b: "1" }));
      const refused = await apply(contract, "two", map({ a: "2", b: "2" }));
      assert.equal(
        textAt(refused.json, "message"),
        'Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b',
      );
    },
  },
  {
    name: "shares fields of the same value and keeps them for the last owner",
    async run(contract) {
      await apply(contract, "one", map({ a: "1" }));
      assert.equal((await apply(contract, "two", map({ a: "1", b: "1" }))).code, 200);
      const left = await apply(contract, "two", map({ b: "1" }));
      assert.deepEqual(left.json["data"], { a: "1", b: "1" });
      const gone = await apply(contract, "one", map({}));
      assert.deepEqual(gone.json["data"], { b: "1" });
    },
  },
  {
    name: "records plain writes and conflicts with them",
    async run(contract) {
      const { expect, path } = contract;
      const query = "fieldManager=writer";
      await expect(201, "POST", `${path("pods")}?${query}`, { body: podBody("p") });
      const object = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p" },
        spec: { containers: [{ name: "main", image: "other" }] },
      };
      const refused = await contract.call("PATCH", `${path("pods", "p")}?fieldManager=one`, {
        type: "application/apply-patch+yaml",
        body: object,
      });
      assert.equal(refused.code, 409);
      assert.equal(
        textAt(refused.json, "message"),
        'Apply failed with 1 conflict: conflict with "writer" using v1: .spec.containers[name="main"].image',
      );
      const stored = await expect(200, "GET", path("pods", "p"));
      assert.deepEqual(valueAt(ownedBy(stored, "writer"), "f:metadata"), {
        "f:labels": { ".": {}, "f:app": {} },
      });
    },
  },
  {
    name: "asks for a manager",
    async run({ call, path }) {
      const refused = await call("PATCH", path("configmaps", "m"), {
        type: "application/apply-patch+yaml",
        body: map({}),
      });
      assert.equal(refused.code, 422);
      assert.equal(
        textAt(refused.json, "message"),
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
      );
    },
  },
];
