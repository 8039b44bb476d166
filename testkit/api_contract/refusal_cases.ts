/** What is refused, and in which words. */
import assert from "node:assert/strict";
import { textAt, valueAt } from "../../sandbox/json.ts";
import type { ContractCase } from "./case.ts";
import { configMapBody, podBody } from "./objects.ts";
import { refusals } from "./refusal_tables.ts";

export const refusalCases: readonly ContractCase[] = [
  ...refusals.map(
    (refusal): ContractCase => ({
      name: `refuses: ${refusal.name}`,
      async run(contract) {
        const path = refusal.path.replace(/^~/, `/api/v1/namespaces/${contract.namespace}`);
        const answer = await contract.call(refusal.method, path, refusal.options);
        assert.equal(textAt(answer.json, "message"), refusal.message);
        assert.equal(answer.code, refusal.code);
        assert.equal(textAt(answer.json, "reason"), refusal.reason ?? "");
        assert.equal(textAt(answer.json, "status"), "Failure");
        if (refusal.details !== undefined) assert.deepEqual(answer.json["details"], refusal.details);
      },
    }),
  ),
  {
    name: "refuses: unknown paths with plain text",
    async run({ call }) {
      for (const path of ["/foo", "/apis/foo/v1/bars"]) {
        const answer = await call("GET", path);
        assert.equal(answer.code, 404);
        assert.equal(answer.text.trim(), "404 page not found");
      }
    },
  },
  {
    name: "refuses: too new a version",
    async run({ call, path }) {
      const answer = await call("GET", `${path("configmaps")}?resourceVersion=999999999`);
      assert.equal(answer.code, 504);
      assert.equal(textAt(answer.json, "reason"), "Timeout");
      assert.match(
        textAt(answer.json, "message"),
        /^Timeout: Too large resource version: 999999999, current: \d+$/,
      );
      assert.equal(valueAt(answer.json, "details", "retryAfterSeconds"), 1);
    },
  },
  {
    name: "warns of unknown fields and stores the rest",
    async run({ call, path }) {
      const body = podBody("p", { other: 1 });
      const answer = await call("POST", path("pods"), { body });
      assert.equal(answer.code, 201, answer.text);
      assert.equal(String(answer.headers["warning"]), '299 - "unknown field \\"other\\""');
      assert.equal(answer.json["other"], undefined);
    },
  },
  {
    name: "refuses: an object that exists",
    async run({ call, expect, path }) {
      await expect(201, "POST", path("configmaps"), { body: configMapBody("x") });
      const answer = await call("POST", path("configmaps"), { body: configMapBody("x") });
      assert.equal(answer.code, 409);
      assert.equal(textAt(answer.json, "message"), 'configmaps "x" already exists');
      assert.equal(textAt(answer.json, "reason"), "AlreadyExists");
    },
  },
  {
    name: "refuses: stale versions and other uids",
    async run({ call, expect, path }) {
      const made = await expect(201, "POST", path("configmaps"), { body: configMapBody("x") });
      await expect(200, "PUT", path("configmaps", "x"), { body: { ...made, data: { a: "2" } } });
      const stale = await call("PUT", path("configmaps", "x"), { body: { ...made, data: { a: "3" } } });
      assert.equal(stale.code, 409);
      assert.equal(
        textAt(stale.json, "message"),
        'Operation cannot be fulfilled on configmaps "x": the object has been modified; please apply your changes to the latest version and try again',
      );
      const uid = textAt(made, "metadata", "uid");
      const other = await call("PATCH", path("configmaps", "x"), {
        type: "application/merge-patch+json",
        body: { metadata: { uid: "0" } },
      });
      assert.equal(other.code, 422);
      assert.equal(
        textAt(other.json, "message"),
        'ConfigMap "x" is invalid: metadata.uid: Invalid value: "0": field is immutable',
      );
      const replaced = await call("PUT", path("configmaps", "x"), {
        body: { metadata: { name: "x", uid: "0" } },
      });
      assert.equal(replaced.code, 409);
      assert.match(
        textAt(replaced.json, "message"),
        new RegExp(`UID in precondition: 0, UID in object meta: ${uid}$`),
      );
      const plain = await expect(200, "PUT", path("configmaps", "x"), {
        body: configMapBody("x", { data: { b: "1" } }),
      });
      assert.deepEqual(plain["data"], { b: "1" });
    },
  },
  {
    name: "keeps pods immutable, but for their images",
    async run({ call, expect, path }) {
      await expect(201, "POST", path("pods"), { body: podBody("p") });
      const image = await expect(200, "PATCH", path("pods", "p"), {
        type: "application/json-patch+json",
        body: [{ op: "replace", path: "/spec/containers/0/image", value: "example.com/app:2" }],
      });
      assert.equal(valueAt(image, "metadata", "generation"), 2);
      const host = await call("PATCH", path("pods", "p"), {
        type: "application/merge-patch+json",
        body: { spec: { readinessGates: [{ conditionType: "example.com/x" }] } },
      });
      assert.equal(host.code, 422);
      assert.ok(
        textAt(host.json, "message").startsWith(
          'Pod "p" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
        ),
        host.text,
      );
    },
  },
];
