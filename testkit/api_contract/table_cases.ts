/** Answers in other forms: tables and partial metadata. */
import assert from "node:assert/strict";
import { listAt, objectsAt, textAt, valueAt } from "../../sandbox/json.ts";
import type { ContractCase } from "./case.ts";
import { widget, withWidgets } from "./custom_cases.ts";
import { configMapBody, podBody } from "./objects.ts";

const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
const merge = "application/merge-patch+json";

const columnsOf = (answer: unknown): string[] =>
  objectsAt(answer, "columnDefinitions").map((one) => `${textAt(one, "name")} ${String(one["priority"])}`);

export const tableCases: readonly ContractCase[] = [
  {
    name: "prints pods",
    async run({ expect, path }) {
      await expect(201, "POST", path("pods"), { body: podBody("p") });
      const status = {
        phase: "Running",
        podIP: "10.0.0.9",
        containerStatuses: [
          {
            name: "main",
            image: "x",
            imageID: "",
            ready: false,
            restartCount: 3,
            state: { waiting: { reason: "CrashLoopBackOff" } },
          },
        ],
      };
      await expect(200, "PATCH", path("pods", "p", "status"), { type: merge, body: { status } });
      const answer = await expect(200, "GET", path("pods"), { accept: table });
      assert.deepEqual(columnsOf(answer), [
        "Name 0",
        "Ready 0",
        "Status 0",
        "Restarts 0",
        "Age 0",
        "IP 1",
        "Node 1",
        "Nominated Node 1",
        "Readiness Gates 1",
      ]);
      const [row] = objectsAt(answer, "rows");
      const cells = listAt(row, "cells");
      assert.deepEqual(
        [cells.slice(0, 4), cells.slice(5)],
        [
          ["p", "0/1", "CrashLoopBackOff", "3"],
          ["10.0.0.9", "<none>", "<none>", "<none>"],
        ],
      );
      assert.equal(valueAt(row, "object", "kind"), "PartialObjectMetadata");
      const bare = await expect(200, "GET", `${path("pods")}?includeObject=None`, { accept: table });
      assert.equal(valueAt(objectsAt(bare, "rows")[0], "object"), null);
    },
  },
  {
    name: "prints custom columns",
    run: (contract) =>
      withWidgets(contract, async (base, group) => {
        await contract.expect(201, "POST", base, {
          body: widget(group, "w", { color: "red", parts: [{ name: "a" }, { name: "b" }] }),
        });
        const answer = await contract.expect(200, "GET", base, { accept: table });
        assert.deepEqual(columnsOf(answer), ["Name 0", "Color 0", "Parts 1", "Age 0"]);
        assert.deepEqual(listAt(objectsAt(answer, "rows")[0], "cells").slice(0, 3), ["w", "red", "a"]);
      }),
  },
  {
    name: "prints the built-in kinds with their columns",
    async run({ expect, path, namespace }) {
      await expect(201, "POST", path("configmaps"), { body: configMapBody("m") });
      const answer = await expect(200, "GET", path("configmaps", "m"), { accept: table });
      assert.deepEqual(columnsOf(answer), ["Name 0", "Data 0", "Age 0"]);
      assert.deepEqual(listAt(objectsAt(answer, "rows")[0], "cells").slice(0, 2), ["m", 1]);
      const own = await expect(200, "GET", `/api/v1/namespaces/${namespace}`, { accept: table });
      assert.deepEqual(listAt(objectsAt(own, "rows")[0], "cells").slice(0, 2), [namespace, "Active"]);
    },
  },
  {
    name: "sends metadata alone",
    async run({ expect, path }) {
      await expect(201, "POST", path("configmaps"), { body: configMapBody("m") });
      const accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
      const one = await expect(200, "GET", path("configmaps", "m"), { accept });
      assert.deepEqual(Object.keys(one).sort(), ["apiVersion", "kind", "metadata"]);
      assert.equal(one["kind"], "PartialObjectMetadata");
      const list = await expect(200, "GET", `${path("configmaps")}?fieldSelector=metadata.name%3Dm`, {
        accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
      });
      assert.equal(list["kind"], "PartialObjectMetadataList");
      assert.equal(objectsAt(list, "items").length, 1);
    },
  },
];
