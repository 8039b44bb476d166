/** JSON, merge and strategic merge patches; status and scale. */
import assert from "node:assert/strict";
import { textAt, valueAt } from "../../sandbox/json.ts";
import type { ContractCase } from "./case.ts";
import { configMapBody, podBody } from "./objects.ts";

const json = "application/json-patch+json";
const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";

export const patchCases: readonly ContractCase[] = [
  {
    name: "applies JSON patches with tests",
    async run({ call, expect, path }) {
      await expect(201, "POST", path("configmaps"), { body: configMapBody("x") });
      const patched = await expect(200, "PATCH", path("configmaps", "x"), {
        type: json,
        body: [
          { op: "test", path: "/data/a", value: "1" },
          { op: "add", path: "/data/b", value: "2" },
          { op: "remove", path: "/data/a" },
        ],
      });
      assert.deepEqual(patched["data"], { b: "2" });
      for (const body of [
        [{ op: "test", path: "/data/b", value: "9" }],
        [{ op: "remove", path: "/data/none" }],
      ]) {
        const refused = await call("PATCH", path("configmaps", "x"), { type: json, body });
        assert.equal(refused.code, 422);
        assert.equal(
          textAt(refused.json, "message"),
          "the server rejected our request due to an error in our request",
        );
        assert.equal(textAt(refused.json, "reason"), "Invalid");
      }
      const malformed = await call("PATCH", path("configmaps", "x"), { type: "application/other", body: {} });
      assert.equal(malformed.code, 415);
      assert.equal(textAt(malformed.json, "message"), "415: Unsupported Media Type");
    },
  },
  {
    name: "merges and removes with merge patches",
    async run({ expect, path }) {
      const made = await expect(201, "POST", path("configmaps"), { body: configMapBody("x") });
      const patched = await expect(200, "PATCH", path("configmaps", "x"), {
        type: merge,
        body: { data: { a: null, c: "3" } },
      });
      assert.deepEqual(patched["data"], { c: "3" });
      assert.notEqual(
        textAt(patched, "metadata", "resourceVersion"),
        textAt(made, "metadata", "resourceVersion"),
      );
      const same = await expect(200, "PATCH", path("configmaps", "x"), {
        type: merge,
        body: { data: { c: "3" } },
      });
      assert.equal(
        textAt(same, "metadata", "resourceVersion"),
        textAt(patched, "metadata", "resourceVersion"),
      );
    },
  },
  {
    name: "merges lists by key with strategic patches",
    async run({ expect, path }) {
      await expect(201, "POST", path("pods"), {
        body: podBody("p", {
          spec: {
            schedulerName: "nobody",
            containers: [
              { name: "a", image: "x:1" },
              { name: "b", image: "y:1" },
            ],
          },
        }),
      });
      const patched = await expect(200, "PATCH", path("pods", "p"), {
        type: strategic,
        body: { spec: { containers: [{ name: "b", image: "y:2" }] } },
      });
      assert.equal(valueAt(patched, "spec", "containers", "0"), undefined);
      const containers = valueAt(patched, "spec", "containers");
      assert.ok(Array.isArray(containers));
      assert.deepEqual(
        containers.map((one) => textAt(one, "image")),
        ["x:1", "y:2"],
      );
      const keyless = await expect(500, "PATCH", path("pods", "p"), {
        type: strategic,
        body: { spec: { containers: [{ image: "z" }] } },
      });
      assert.match(textAt(keyless, "message"), /does not contain declared merge key: name$/);
    },
  },
  {
    name: "takes labels and annotations of a pod with its status, all or nothing",
    async run({ expect, path }) {
      const metadata = { name: "p", labels: { old: "1" }, annotations: { mode: "first", gone: "1" } };
      const created = await expect(201, "POST", path("pods"), { body: podBody("p", { metadata }) });
      const changed = {
        labels: { old: null, revision: "2" },
        annotations: { mode: "second", gone: null },
      };
      const patch = (resourceVersion: string) => ({
        type: strategic,
        body: {
          metadata: { uid: textAt(created, "metadata", "uid"), resourceVersion, ...changed },
          status: { conditions: [{ type: "InPlaceUpdateReady", status: "False" }] },
        },
      });
      await expect(409, "PATCH", path("pods", "p", "status"), patch("1"));
      const before = await expect(200, "GET", path("pods", "p"));
      assert.deepEqual(valueAt(before, "metadata", "annotations"), metadata.annotations);
      const version = textAt(before, "metadata", "resourceVersion");
      const after = await expect(200, "PATCH", path("pods", "p", "status"), patch(version));
      assert.deepEqual(valueAt(after, "metadata", "labels"), { revision: "2" });
      assert.deepEqual(valueAt(after, "metadata", "annotations"), { mode: "second" });
      assert.equal(valueAt(after, "metadata", "generation"), 1);
      const conditions = valueAt(after, "status", "conditions");
      assert.ok(Array.isArray(conditions));
      assert.ok(conditions.some((one) => textAt(one, "type") === "InPlaceUpdateReady"));
    },
  },
  {
    name: "keeps spec and status apart",
    async run({ expect, path }) {
      await expect(201, "POST", path("pods"), { body: podBody("p", { status: { phase: "Running" } }) });
      const status = await expect(200, "PATCH", path("pods", "p", "status"), {
        type: merge,
        body: {
          metadata: {
            labels: { via: "status" },
            ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "z", uid: "z" }],
          },
          spec: { nodeName: "n" },
          status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
        },
      });
      assert.equal(valueAt(status, "status", "phase"), "Running");
      assert.equal(valueAt(status, "spec", "nodeName"), undefined);
      assert.equal(valueAt(status, "metadata", "labels", "via"), "status");
      assert.equal(valueAt(status, "metadata", "ownerReferences"), undefined);
      assert.equal(valueAt(status, "metadata", "generation"), 1);
      const spec = await expect(200, "PATCH", path("pods", "p"), {
        type: merge,
        body: { status: { phase: "Failed" }, spec: { activeDeadlineSeconds: 9 } },
      });
      assert.equal(valueAt(spec, "status", "phase"), "Running");
      assert.equal(valueAt(spec, "metadata", "generation"), 2);
    },
  },
  {
    name: "scales deployments through their subresource",
    async run({ expect, namespace }) {
      const base = `/apis/apps/v1/namespaces/${namespace}/deployments`;
      const labels = { app: "web" };
      await expect(201, "POST", base, {
        body: {
          metadata: { name: "web" },
          spec: {
            replicas: 0,
            paused: true,
            selector: { matchLabels: labels },
            template: { metadata: { labels }, spec: { containers: [{ name: "a", image: "x" }] } },
          },
        },
      });
      const scale = await expect(200, "GET", `${base}/web/scale`);
      assert.equal(scale["kind"], "Scale");
      assert.equal(scale["apiVersion"], "autoscaling/v1");
      assert.equal(valueAt(scale, "status", "selector"), "app=web");
      const scaled = await expect(200, "PATCH", `${base}/web/scale`, {
        type: merge,
        body: { spec: { replicas: 2 } },
      });
      assert.equal(valueAt(scaled, "spec", "replicas"), 2);
      const stored = await expect(200, "GET", `${base}/web`);
      assert.equal(valueAt(stored, "spec", "replicas"), 2);
      assert.equal(valueAt(stored, "spec", "strategy", "rollingUpdate", "maxSurge"), "25%");
    },
  },
  {
    name: "binds pods once",
    async run({ call, expect, path }) {
      await expect(201, "POST", path("pods"), { body: podBody("p") });
      const body = { metadata: { name: "p" }, target: { kind: "Node", name: "contract-nowhere" } };
      await expect(201, "POST", path("pods", "p", "binding"), { body });
      const bound = await expect(200, "GET", path("pods", "p"));
      assert.equal(valueAt(bound, "spec", "nodeName"), "contract-nowhere");
      const again = await call("POST", path("pods", "p", "binding"), { body });
      assert.equal(again.code, 409);
      assert.equal(
        textAt(again.json, "message"),
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "contract-nowhere"',
      );
    },
  },
];
