/** Logs of simulated containers, read as `refit logs -f` reads them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { systemClock } from "../../kube/index.ts";
import { startSandbox } from "../../sandbox/index.ts";
import { apiOf, reached } from "../../testkit/sandbox/sandbox_client.ts";
import { processHost } from "../host.ts";
import { linesOf } from "./lines.ts";

const sandbox = await startSandbox({
  seed: 3,
  clock: systemClock,
  nodes: 1,
  profile: "fast",
  log: () => undefined,
});
const api = apiOf(sandbox);
const kubeconfig = join(t.testdir(), "kubeconfig");
writeFileSync(kubeconfig, sandbox.kubeconfig);
const { client } = await processHost().connect({
  kubeconfig,
  context: undefined,
  timeoutMs: undefined,
  userAgent: "refit-test",
  env: {},
});
t.teardown(async () => {
  await client.close();
  await api.close();
  await sandbox.stop();
});

const pods = "/api/v1/namespaces/default/pods";
const { signal } = new AbortController();
const open = (query: string) => client.stream(`${pods}/web/log?timestamps=true&${query}`, signal);
const restarts = (count: number) =>
  reached(
    sandbox,
    "pods",
    (all) =>
      all.some(({ status }) => JSON.stringify(status).includes(`"ready":true,"restartCount":${count},`)),
    `${count} restarts`,
  );

async function read(chunks: AsyncIterable<Uint8Array>): Promise<string[]> {
  const texts: string[] = [];
  for await (const { time, text } of linesOf(chunks)) texts.push(time === "" ? `no time: ${text}` : text);
  return texts;
}

t.test("a log that is followed ends with its run; the run before is kept, others are refused", async (t) => {
  const annotations = { "sandbox.refit.dev/log": "hello" };
  await api.post(pods, {
    metadata: { name: "web", annotations },
    spec: { containers: [{ name: "web", image: "nginx:1.20" }] },
  });
  await restarts(0);
  await t.rejects(open("previous=true"), {
    code: "BadRequest",
    message: /previous terminated container "web"/,
  });
  await t.rejects(open("container=other"), { code: "BadRequest", message: /not valid for pod web/ });
  t.same(await read(await open("")), ["hello"]);
  t.same(await read(await open("sinceTime=2100-01-01T00:00:00Z")), []);
  const followed = read(await open("follow=true"));
  await api.patch(`${pods}/web`, { spec: { containers: [{ name: "web", image: "nginx:1.21" }] } });
  t.same(await followed, ["hello"], "its stream ends when the container restarts");
  await restarts(1);
  t.same(await read(await open("previous=true")), ["hello"]);
  const last = read(await open("follow=true"));
  await api.delete(`${pods}/web`, { gracePeriodSeconds: 0 });
  t.same(await last, ["hello"]);
  await t.rejects(open("follow=true"), { code: "NotFound" });
});
