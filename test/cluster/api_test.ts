import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import t, { type Test } from "tap";
import { listening } from "../../testkit/kube/listener_fixture.ts";
import { type Api, connect } from "./api.ts";

const busy = { kind: "Status", code: 429, message: "storage is (re)initializing" };
const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } };
const list = { metadata: { resourceVersion: "7" }, items: [pod] };
const event = { type: "ADDED", object: pod };

/** Of a server that first says twice that it is busy, as it does while a definition changes. */
async function busyServer(t: Test): Promise<{ api: Api; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer(({ method = "", url = "" }, response) => {
    asked.push(method);
    if (asked.length <= 2) response.writeHead(429, { "retry-after": "0" }).end(JSON.stringify(busy));
    else response.end(`${JSON.stringify(url.includes("watch=true") ? event : list)}\n`);
  });
  const port = await listening(t, server);
  const kubeconfig = join(t.testdir(), "kubeconfig");
  const parts = {
    clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: "u", user: {} }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  writeFileSync(kubeconfig, JSON.stringify(parts));
  const api = connect(kubeconfig);
  t.teardown(() => api.close());
  return { api, asked };
}

t.test("a list comes again when the server asks for it", async (t) => {
  const { api, asked } = await busyServer(t);
  t.match(await api.listWithVersion("pods", "ns"), { version: "7", items: [{ metadata: { name: "a" } }] });
  t.equal(asked.length, 3);
});

t.test("so does a watch", async (t) => {
  const { api, asked } = await busyServer(t);
  const types: string[] = [];
  const { signal } = new AbortController();
  for await (const { type } of api.watch("pods", "ns", { signal })) types.push(type);
  t.same(types, ["ADDED"]);
  t.equal(asked.length, 3);
});

t.test("of a write the suite is told", async (t) => {
  const { api, asked } = await busyServer(t);
  await t.rejects(api.create(pod, "ns"), { message: busy.message });
  t.same(asked, ["POST"]);
});
