/** Deleting: grace, finalizers, preconditions, propagation, namespaces. */
import assert from "node:assert/strict";
import { type Fields, objectsAt, textAt, valueAt } from "../../sandbox/json.ts";
import type { Contract, ContractCase } from "./case.ts";
import { configMapBody, ownerOf, podBody } from "./objects.ts";

async function family({ expect, path }: Contract, finalizers: readonly string[] = []): Promise<Fields> {
  const owner = await expect(201, "POST", path("configmaps"), { body: configMapBody("owner") });
  const ownerReferences = [ownerOf(owner, { blockOwnerDeletion: true })];
  await expect(201, "POST", path("configmaps"), {
    body: configMapBody("child", { metadata: { name: "child", ownerReferences, finalizers } }),
  });
  return owner;
}

const gone = (answer: { code: number }): boolean => answer.code === 404;

export const deleteCases: readonly ContractCase[] = [
  {
    name: "answers deletions with a status that names the object",
    async run({ expect, path }) {
      const made = await expect(201, "POST", path("configmaps"), { body: configMapBody("x") });
      const status = await expect(200, "DELETE", path("configmaps", "x"));
      assert.equal(status["kind"], "Status");
      assert.equal(status["status"], "Success");
      assert.deepEqual(status["details"], {
        name: "x",
        kind: "configmaps",
        uid: textAt(made, "metadata", "uid"),
      });
    },
  },
  {
    name: "keeps objects with finalizers until the last is gone",
    async run({ call, expect, path }) {
      await expect(201, "POST", path("configmaps"), {
        body: configMapBody("x", { metadata: { name: "x", finalizers: ["example.com/hold"] } }),
      });
      const waiting = await expect(200, "DELETE", path("configmaps", "x"));
      assert.notEqual(textAt(waiting, "metadata", "deletionTimestamp"), "");
      assert.equal(valueAt(waiting, "metadata", "deletionGracePeriodSeconds"), 0);
      const again = await call("POST", path("configmaps"), { body: configMapBody("x") });
      assert.equal(textAt(again.json, "message"), 'object is being deleted: configmaps "x" already exists');
      const more = await call("PATCH", path("configmaps", "x"), {
        type: "application/merge-patch+json",
        body: { metadata: { finalizers: ["example.com/hold", "example.com/more"] } },
      });
      assert.equal(more.code, 422);
      assert.match(
        textAt(more.json, "message"),
        /metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers \[\]string\{"example.com\/more"\}/,
      );
      await expect(200, "PATCH", path("configmaps", "x"), {
        type: "application/merge-patch+json",
        body: { metadata: { finalizers: null } },
      });
      await expect(404, "GET", path("configmaps", "x"));
    },
  },
  {
    name: "gives scheduled pods their time, others none",
    async run({ expect, path }) {
      await expect(201, "POST", path("pods"), { body: podBody("free") });
      await expect(200, "DELETE", path("pods", "free"));
      await expect(404, "GET", path("pods", "free"));
      await expect(201, "POST", path("pods"), {
        body: podBody("bound", {
          spec: {
            nodeName: "contract-nowhere",
            terminationGracePeriodSeconds: 7,
            containers: [{ name: "main", image: "x" }],
          },
        }),
      });
      const leaving = await expect(200, "DELETE", path("pods", "bound"));
      assert.equal(valueAt(leaving, "metadata", "deletionGracePeriodSeconds"), 7);
      assert.equal(valueAt(leaving, "metadata", "generation"), 2);
      const shorter = await expect(200, "DELETE", `${path("pods", "bound")}?gracePeriodSeconds=3`);
      assert.equal(valueAt(shorter, "metadata", "deletionGracePeriodSeconds"), 3);
      const at = Date.parse(textAt(shorter, "metadata", "deletionTimestamp"));
      assert.equal(at, Date.parse(textAt(leaving, "metadata", "deletionTimestamp")) - 4000);
      await expect(200, "DELETE", `${path("pods", "bound")}?gracePeriodSeconds=0`);
      await expect(404, "GET", path("pods", "bound"));
    },
  },
  {
    name: "checks preconditions",
    async run({ call, expect, path }) {
      const made = await expect(201, "POST", path("configmaps"), { body: configMapBody("x") });
      const refused = await call("DELETE", path("configmaps", "x"), {
        body: { preconditions: { uid: "other" } },
      });
      assert.equal(refused.code, 409);
      assert.equal(
        textAt(refused.json, "message"),
        `Operation cannot be fulfilled on ConfigMap "x": the UID in the precondition (other) does not match the UID in record (${textAt(made, "metadata", "uid")}). The object might have been deleted and then recreated`,
      );
      const uid = textAt(made, "metadata", "uid");
      await expect(200, "DELETE", path("configmaps", "x"), { body: { preconditions: { uid } } });
    },
  },
  {
    name: "deletes dependents in the background",
    async run(contract) {
      const { expect, path, until } = contract;
      await family(contract);
      await expect(200, "DELETE", path("configmaps", "owner"), { body: { propagationPolicy: "Background" } });
      await expect(404, "GET", path("configmaps", "owner"));
      await until(path("configmaps", "child"), gone);
    },
  },
  {
    name: "holds a foreground deletion until blocking dependents are gone",
    async run(contract) {
      const { expect, path, until } = contract;
      await family(contract, ["example.com/hold"]);
      const owner = await expect(200, "DELETE", path("configmaps", "owner"), {
        body: { propagationPolicy: "Foreground" },
      });
      assert.deepEqual(valueAt(owner, "metadata", "finalizers"), ["foregroundDeletion"]);
      await until(
        path("configmaps", "child"),
        (answer) => textAt(answer.json, "metadata", "deletionTimestamp") !== "",
      );
      await expect(200, "GET", path("configmaps", "owner"));
      await expect(200, "PATCH", path("configmaps", "child"), {
        type: "application/merge-patch+json",
        body: { metadata: { finalizers: null } },
      });
      await until(path("configmaps", "owner"), gone);
    },
  },
  {
    name: "orphans dependents",
    async run(contract) {
      const { expect, path, until } = contract;
      await family(contract);
      await expect(200, "DELETE", path("configmaps", "owner"), { body: { propagationPolicy: "Orphan" } });
      await until(path("configmaps", "owner"), gone);
      const child = await expect(200, "GET", path("configmaps", "child"));
      assert.equal(valueAt(child, "metadata", "ownerReferences"), undefined);
    },
  },
  {
    name: "deletes objects whose owner never existed",
    async run({ expect, path, until }) {
      const ownerReferences = [
        { apiVersion: "v1", kind: "ConfigMap", name: "never", uid: "11111111-1111-4111-8111-111111111111" },
      ];
      await expect(201, "POST", path("configmaps"), {
        body: configMapBody("child", { metadata: { name: "child", ownerReferences } }),
      });
      await until(path("configmaps", "child"), gone);
    },
  },
  {
    name: "deletes objects whose owner is in another namespace, and says so",
    async run({ expect, path, until }) {
      const made = await expect(201, "POST", "/api/v1/namespaces", {
        body: { metadata: { generateName: "contract-" } },
      });
      const elsewhere = textAt(made, "metadata", "name");
      const away = `/api/v1/namespaces/${elsewhere}`;
      const owner = ownerOf(await expect(201, "POST", path("configmaps"), { body: configMapBody("owner") }));
      const child = (name: string, finalizers: readonly string[]) =>
        configMapBody(name, { metadata: { name, ownerReferences: [owner], finalizers } });
      await expect(201, "POST", `${away}/configmaps`, { body: child("free", []) });
      await expect(201, "POST", `${away}/configmaps`, { body: child("held", ["example.com/hold"]) });
      await until(`${away}/configmaps/free`, gone);
      const isDeleting = ({ json }: { json: Fields }) =>
        valueAt(json, "metadata", "deletionTimestamp") !== undefined;
      await until(`${away}/configmaps/held`, isDeleting);
      const reported = `${away}/events?fieldSelector=reason%3DOwnerRefInvalidNamespace`;
      const { json } = await until(reported, ({ json }) => objectsAt(json, "items").length >= 2);
      const events = objectsAt(json, "items");
      const about = `[v1/ConfigMap, namespace: ${elsewhere}, name: owner, uid: ${textAt(owner, "uid")}]`;
      for (const event of events) {
        assert.equal(textAt(event, "type"), "Warning");
        assert.equal(textAt(event, "source", "component"), "garbage-collector-controller");
        assert.equal(
          textAt(event, "message"),
          `ownerRef ${about} does not exist in namespace "${elsewhere}"`,
        );
      }
      const named = new Set(events.map((event) => textAt(event, "involvedObject", "name")));
      assert.deepEqual([...named].sort(), ["free", "held"]);
      await expect(200, "GET", path("configmaps", "owner"));
      await expect(200, "PATCH", `${away}/configmaps/held`, {
        type: "application/merge-patch+json",
        body: { metadata: { finalizers: null } },
      });
      await expect(200, "DELETE", away);
    },
  },
  {
    name: "leaves objects of the whole cluster alone whose owner has a namespace, and says so",
    async run({ expect, namespace, path, until }) {
      const owner = ownerOf(await expect(201, "POST", path("configmaps"), { body: configMapBody("owner") }));
      const child = configMapBody("child", { metadata: { name: "child", ownerReferences: [owner] } });
      await expect(201, "POST", path("configmaps"), { body: child });
      const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
      const metadata = { name: namespace, ownerReferences: [owner] };
      await expect(201, "POST", roles, { body: { metadata, rules: [] } });
      try {
        const fields = encodeURIComponent(
          `reason=OwnerRefInvalidNamespace,involvedObject.kind=ClusterRole,involvedObject.name=${namespace}`,
        );
        const { json } = await until(
          `/api/v1/namespaces/default/events?fieldSelector=${fields}`,
          ({ json }) => objectsAt(json, "items").length > 0,
        );
        const about = `[v1/ConfigMap, namespace: , name: owner, uid: ${textAt(owner, "uid")}]`;
        assert.equal(
          textAt(objectsAt(json, "items")[0], "message"),
          `ownerRef ${about} does not exist in namespace ""`,
        );
        await expect(200, "DELETE", path("configmaps", "owner"), {
          body: { propagationPolicy: "Background" },
        });
        await until(path("configmaps", "child"), gone);
        const left = await expect(200, "GET", `${roles}/${namespace}`);
        assert.deepEqual(valueAt(left, "metadata", "ownerReferences"), [owner]);
      } finally {
        await expect(200, "DELETE", `${roles}/${namespace}`);
      }
    },
  },
  {
    name: "deletes collections by selector",
    async run({ expect, path }) {
      for (const name of ["a", "b", "c"]) {
        await expect(201, "POST", path("configmaps"), {
          body: configMapBody(name, { metadata: { name, labels: { keep: name === "c" ? "yes" : "no" } } }),
        });
      }
      await expect(200, "DELETE", `${path("configmaps")}?labelSelector=keep%3Dno`);
      await expect(404, "GET", path("configmaps", "a"));
      await expect(200, "GET", path("configmaps", "c"));
    },
  },
  {
    name: "empties and removes namespaces, and refuses new content meanwhile",
    async run({ call, expect, until, namespace, path }) {
      await expect(201, "POST", path("configmaps"), {
        body: configMapBody("x", { metadata: { name: "x", finalizers: ["example.com/hold"] } }),
      });
      await expect(201, "POST", path("secrets"), { body: { metadata: { name: "s" } } });
      const leaving = await expect(200, "DELETE", `/api/v1/namespaces/${namespace}`);
      assert.equal(valueAt(leaving, "status", "phase"), "Terminating");
      await until(
        path("configmaps", "x"),
        (answer) => textAt(answer.json, "metadata", "deletionTimestamp") !== "",
      );
      await until(path("secrets", "s"), gone);
      const refused = await call("POST", path("configmaps"), { body: configMapBody("y") });
      assert.equal(refused.code, 403);
      assert.equal(
        textAt(refused.json, "message"),
        `configmaps "y" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`,
      );
      assert.deepEqual(valueAt(refused.json, "details", "causes"), [
        {
          reason: "NamespaceTerminating",
          message: `namespace ${namespace} is being terminated`,
          field: "metadata.namespace",
        },
      ]);
      await expect(200, "PATCH", path("configmaps", "x"), {
        type: "application/merge-patch+json",
        body: { metadata: { finalizers: null } },
      });
      await until(`/api/v1/namespaces/${namespace}`, gone);
    },
  },
];
