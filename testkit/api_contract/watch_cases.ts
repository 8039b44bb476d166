/** Watches: order, selectors, versions, bookmarks. */
import assert from "node:assert/strict";
import { textAt, valueAt } from "../../sandbox/json.ts";
import type { Contract, ContractCase } from "./case.ts";
import { configMapBody } from "./objects.ts";
import type { OpenStream } from "./target.ts";

const nameOf = (object: unknown): string => textAt(object, "metadata", "name");

function labelled(name: string, value: string) {
  return configMapBody(name, { metadata: { name, labels: { own: value } } });
}

async function take(stream: OpenStream, count: number): Promise<string[]> {
  const taken: string[] = [];
  while (taken.length < count) {
    const event = await stream.next();
    if (event === undefined) break;
    taken.push(`${event.type} ${nameOf(event.object)}`);
  }
  return taken;
}

async function relabel({ expect, path }: Contract, name: string, value: string | null): Promise<void> {
  await expect(200, "PATCH", path("configmaps", name), {
    type: "application/merge-patch+json",
    body: { metadata: { labels: { own: value } } },
  });
}

export const watchCases: readonly ContractCase[] = [
  {
    name: "watches from a version on, in order",
    async run(contract) {
      const { expect, path, target } = contract;
      const first = await expect(201, "POST", path("configmaps"), { body: labelled("a", "1") });
      await expect(201, "POST", path("configmaps"), { body: labelled("b", "1") });
      const version = textAt(first, "metadata", "resourceVersion");
      const stream = await target.watch(
        `${path("configmaps")}?watch=1&labelSelector=own&resourceVersion=${version}`,
      );
      await relabel(contract, "a", "2");
      await expect(200, "DELETE", path("configmaps", "b"));
      assert.deepEqual(await take(stream, 3), ["ADDED b", "MODIFIED a", "DELETED b"]);
      await stream.close();
    },
  },
  {
    name: "turns selector transitions into arrivals and departures",
    async run(contract) {
      const { expect, path, target } = contract;
      await expect(201, "POST", path("configmaps"), { body: labelled("a", "no") });
      const stream = await target.watch(`${path("configmaps")}?watch=1&labelSelector=own%3Dyes`);
      await relabel(contract, "a", "yes");
      await relabel(contract, "a", null);
      const arrived = await stream.next();
      assert.equal(arrived?.type, "ADDED");
      const left = await stream.next();
      assert.equal(left?.type, "DELETED");
      assert.equal(valueAt(left?.object, "metadata", "labels", "own"), "yes");
      const now = await expect(200, "GET", path("configmaps", "a"));
      assert.equal(
        textAt(left?.object, "metadata", "resourceVersion"),
        textAt(now, "metadata", "resourceVersion"),
      );
      await stream.close();
    },
  },
  {
    name: "streams a list and marks its end",
    async run({ expect, path, target }) {
      const made = await expect(201, "POST", path("configmaps"), { body: labelled("a", "1") });
      const version = textAt(made, "metadata", "resourceVersion");
      const stream = await target.watch(
        `${path("configmaps")}?watch=1&labelSelector=own&sendInitialEvents=true&resourceVersion=${version}&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
      );
      const first = await stream.next();
      // Servers over an etcd older than 3.4.31 cannot do this.
      if (/RequestWatchProgress is disabled/.test(textAt(first?.object, "message"))) return;
      assert.equal(`${first?.type} ${nameOf(first?.object)}`, "ADDED a");
      const mark = await stream.next();
      assert.equal(mark?.type, "BOOKMARK");
      assert.equal(valueAt(mark?.object, "metadata", "annotations", "k8s.io/initial-events-end"), "true");
      assert.equal(textAt(mark?.object, "kind"), "ConfigMap");
      await stream.close();
    },
  },
  {
    name: "ends a watch after its time",
    async run({ path, target }) {
      const stream = await target.watch(`${path("secrets")}?watch=1&timeoutSeconds=1&resourceVersion=0`);
      assert.equal(await stream.next(), undefined);
    },
  },
  {
    name: "sends the last state of a deleted object under a new version",
    async run({ expect, path, target }) {
      const made = await expect(201, "POST", path("configmaps"), { body: labelled("a", "1") });
      const version = textAt(made, "metadata", "resourceVersion");
      const stream = await target.watch(
        `${path("configmaps")}?watch=1&fieldSelector=metadata.name%3Da&resourceVersion=${version}`,
      );
      await expect(200, "DELETE", path("configmaps", "a"));
      const event = await stream.next();
      assert.equal(event?.type, "DELETED");
      assert.deepEqual(valueAt(event?.object, "data"), { a: "1" });
      assert.ok(Number(textAt(event?.object, "metadata", "resourceVersion")) > Number(version));
      await stream.close();
    },
  },
];
