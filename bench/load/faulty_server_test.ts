import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { seededRandom, systemClock } from "../../kube/index.ts";
import { type Faults, type FaultyServer, startFaultyServer } from "./faulty_server.ts";

/** A server that says what it was asked, and the faulty way to it. */
async function faulty(t: Test, faults: Faults): Promise<{ heard: string[]; proxy: FaultyServer }> {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      const { method, url, headers } = request;
      heard.push(`${method} ${url} ${headers.authorization} ${body}`);
      response.writeHead(201).end("done");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const proxy = await startFaultyServer({
    server: `http://127.0.0.1:${port}`,
    faults,
    clock: systemClock,
    random: seededRandom(3),
  });
  t.teardown(async () => {
    await proxy.stop();
    server.closeAllConnections();
    server.close();
  });
  return { heard, proxy };
}

const write = { method: "POST", body: "{}", headers: { authorization: "Bearer a" } };

t.test("without a fault a request and its answer go through as they are", async (t) => {
  const { heard, proxy } = await faulty(t, { latencyMs: 0, errors: 0 });
  const answer = await fetch(`${proxy.url}/api/v1/pods?limit=1`, write);
  t.equal(answer.status, 201);
  t.equal(await answer.text(), "done");
  t.same(heard, ["POST /api/v1/pods?limit=1 Bearer a {}"]);
  t.same(proxy.answered, { before: 0, after: 0 });
});

t.test("errors come before and after a write took effect, in all their codes", async (t) => {
  const { heard, proxy } = await faulty(t, { latencyMs: 0, errors: 1 });
  const codes = new Set<number>();
  for (let count = 0; count < 60; count++) {
    const answer = await fetch(`${proxy.url}/api/v1/pods`, write);
    codes.add(answer.status);
    const status = JSON.parse(await answer.text());
    t.match(status, { kind: "Status", code: answer.status });
    if (answer.status === 429) t.equal(answer.headers.get("retry-after"), "1");
  }
  t.same([...codes].sort(), [429, 500, 503]);
  t.ok(proxy.answered.before > 0 && proxy.answered.after > 0);
  t.equal(proxy.answered.before + proxy.answered.after, 60);
  t.equal(heard.length, proxy.answered.after, "the server heard of those that took effect, and of no other");
});

t.test("what reads has no effect to lose", async (t) => {
  const { heard, proxy } = await faulty(t, { latencyMs: 0, errors: 1 });
  for (let count = 0; count < 20; count++) await (await fetch(`${proxy.url}/api/v1/pods`)).text();
  t.same(heard, []);
  t.same(proxy.answered, { before: 20, after: 0 });
});

t.test("so many as asked", async (t) => {
  const { proxy } = await faulty(t, { latencyMs: 0, errors: 0.1 });
  for (let count = 0; count < 200; count++) await (await fetch(`${proxy.url}/api/v1/pods`)).text();
  t.ok(proxy.answered.before > 5 && proxy.answered.before < 40, `${proxy.answered.before} of 200`);
});

t.test("each request waits", async (t) => {
  const waits: number[] = [];
  const clock = { ...systemClock, sleep: async (ms: number) => void waits.push(ms) };
  const proxy = await startFaultyServer({
    server: "http://127.0.0.1:1",
    faults: { latencyMs: 200, errors: 1 },
    clock,
    random: seededRandom(1),
  });
  t.teardown(() => proxy.stop());
  await (await fetch(`${proxy.url}/version`)).text();
  t.same(waits, [200]);
});
