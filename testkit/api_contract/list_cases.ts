/** Lists: pages, versions, selectors, discovery. */
import assert from "node:assert/strict";
import { listAt, objectsAt, textAt, valueAt } from "../../sandbox/json.ts";
import type { Contract, ContractCase } from "./case.ts";
import { configMapBody, podBody } from "./objects.ts";

const names = (list: unknown): string[] =>
  objectsAt(list, "items").map((item) => textAt(item, "metadata", "name"));

async function makeMaps({ expect, path }: Contract, count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    const body = configMapBody(`m${at}`, {
      metadata: { name: `m${at}`, labels: { parity: at % 2 === 0 ? "even" : "odd" } },
    });
    await expect(201, "POST", path("configmaps"), { body });
  }
}

export const listCases: readonly ContractCase[] = [
  {
    name: "lists pages of one snapshot",
    async run(contract) {
      const { expect, path } = contract;
      await makeMaps(contract, 5);
      const base = `${path("configmaps")}?labelSelector=parity`;
      const first = await expect(200, "GET", `${base}&limit=2`);
      const token = textAt(first, "metadata", "continue");
      assert.notEqual(token, "");
      await expect(200, "DELETE", path("configmaps", "m4"));
      const rest = await expect(200, "GET", `${base}&limit=10&continue=${encodeURIComponent(token)}`);
      assert.deepEqual([...names(first), ...names(rest)], ["m0", "m1", "m2", "m3", "m4"]);
      assert.equal(textAt(rest, "metadata", "resourceVersion"), textAt(first, "metadata", "resourceVersion"));
      assert.equal(valueAt(rest, "metadata", "continue"), undefined);
    },
  },
  {
    name: "selects by labels and fields",
    async run(contract) {
      const { expect, path } = contract;
      await makeMaps(contract, 4);
      const list = async (query: string): Promise<string[]> =>
        names(await expect(200, "GET", `${path("configmaps")}?${query}`));
      assert.deepEqual(await list("labelSelector=parity%3Deven"), ["m0", "m2"]);
      assert.deepEqual(await list("labelSelector=parity+in+(odd),!none"), ["m1", "m3"]);
      assert.deepEqual(await list("fieldSelector=metadata.name%3Dm1"), ["m1"]);
      assert.deepEqual(await list("labelSelector=parity&fieldSelector=metadata.name!%3Dm1"), [
        "m0",
        "m2",
        "m3",
      ]);
    },
  },
  {
    name: "lists the state of an exact version",
    async run({ expect, path }) {
      await expect(201, "POST", path("configmaps"), {
        body: configMapBody("old", { metadata: { name: "old", labels: { own: "1" } } }),
      });
      const then = await expect(200, "GET", `${path("configmaps")}?labelSelector=own`);
      await expect(200, "DELETE", path("configmaps", "old"));
      const version = textAt(then, "metadata", "resourceVersion");
      const again = await expect(
        200,
        "GET",
        `${path("configmaps")}?labelSelector=own&resourceVersion=${version}&resourceVersionMatch=Exact`,
      );
      assert.deepEqual(names(again), ["old"]);
      assert.deepEqual(names(await expect(200, "GET", `${path("configmaps")}?labelSelector=own`)), []);
    },
  },
  {
    name: "sends lists of built-in kinds without kinds of the items",
    async run({ expect, path }) {
      await expect(201, "POST", path("pods"), { body: podBody("p") });
      const list = await expect(200, "GET", path("pods"));
      assert.equal(list["kind"], "PodList");
      const [item] = objectsAt(list, "items");
      assert.equal(item?.["kind"], undefined);
      assert.equal(valueAt(item, "status", "phase"), "Pending");
      const empty = await expect(200, "GET", path("services"));
      assert.deepEqual(empty["items"], []);
    },
  },
  {
    name: "selects pods by node, phase and more",
    async run({ expect, path }) {
      await expect(201, "POST", path("pods"), { body: podBody("a") });
      await expect(201, "POST", path("pods"), {
        body: podBody("b", {
          spec: { nodeName: "contract-nowhere", containers: [{ name: "main", image: "x" }] },
        }),
      });
      const list = async (query: string): Promise<string[]> =>
        names(await expect(200, "GET", `${path("pods")}?fieldSelector=${encodeURIComponent(query)}`));
      assert.deepEqual(await list("spec.nodeName="), ["a"]);
      assert.deepEqual(await list("spec.nodeName=contract-nowhere"), ["b"]);
      assert.deepEqual(await list("status.phase=Pending,spec.schedulerName=nobody"), ["a"]);
      assert.deepEqual(await list("status.phase!=Pending"), []);
    },
  },
  {
    name: "tells what it serves",
    async run({ call, expect }) {
      const pods = objectsAt(await expect(200, "GET", "/api/v1"), "resources").find(
        (one) => one["name"] === "pods",
      );
      assert.equal(pods?.["singularName"], "pod");
      assert.deepEqual(pods?.["shortNames"], ["po"]);
      assert.deepEqual(pods?.["categories"], ["all"]);
      assert.deepEqual(pods?.["verbs"], [
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
      ]);
      const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
      const whole = await call("GET", "/apis", { accept });
      assert.equal(whole.headers["content-type"], accept);
      const apps = objectsAt(whole.json, "items").find((one) => textAt(one, "metadata", "name") === "apps");
      const [version] = objectsAt(apps, "versions");
      const deployments = objectsAt(version, "resources").find((one) => one["resource"] === "deployments");
      assert.deepEqual(
        objectsAt(deployments, "subresources").map((one) => one["subresource"]),
        ["scale", "status"],
      );
      const groups = await expect(200, "GET", "/apis");
      assert.ok(objectsAt(groups, "groups").some((one) => one["name"] === "autoscaling"));
      assert.deepEqual((await expect(200, "GET", "/api"))["versions"], ["v1"]);
    },
  },
  {
    name: "describes its types in OpenAPI v3",
    async run({ expect }) {
      const index = await expect(200, "GET", "/openapi/v3");
      const url = textAt(index, "paths", "apis/apps/v1", "serverRelativeURL");
      const document = await expect(200, "GET", url);
      const patch = valueAt(
        document,
        "paths",
        "/apis/apps/v1/namespaces/{namespace}/deployments/{name}",
        "patch",
      );
      assert.ok(listAt(patch, "parameters").some((one) => textAt(one, "name") === "fieldValidation"));
      const spec = valueAt(
        document,
        "components",
        "schemas",
        "io.k8s.api.apps.v1.DeploymentSpec",
        "properties",
        "replicas",
      );
      assert.equal(textAt(spec, "type"), "integer");
    },
  },
  {
    name: "describes its types in OpenAPI v2, as JSON and in the protobuf of kubectl",
    async run({ call, expect }) {
      const document = await expect(200, "GET", "/openapi/v2");
      const pod = valueAt(document, "definitions", "io.k8s.api.core.v1.Pod");
      assert.equal(textAt(pod, "properties", "spec", "$ref"), "#/definitions/io.k8s.api.core.v1.PodSpec");
      const binary = await call("GET", "/openapi/v2", {
        accept: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
      });
      assert.equal(
        binary.headers["content-type"],
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
      );
      assert.ok(binary.text.includes("io.k8s.api.core.v1.Pod"));
      assert.equal((await call("GET", "/openapi/v2", { accept: "text/html" })).code, 406);
    },
  },
  {
    name: "names objects from a prefix",
    async run({ expect, path }) {
      const made = await expect(201, "POST", path("configmaps"), {
        body: { metadata: { generateName: "gen-" } },
      });
      assert.match(textAt(made, "metadata", "name"), /^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
      assert.match(textAt(made, "metadata", "uid"), /^[0-9a-f-]{36}$/);
    },
  },
  {
    name: "stores nothing on a dry run",
    async run({ expect, path }) {
      const made = await expect(201, "POST", `${path("configmaps")}?dryRun=All`, {
        body: configMapBody("dry"),
      });
      assert.notEqual(textAt(made, "metadata", "uid"), "");
      await expect(404, "GET", path("configmaps", "dry"));
    },
  },
];
