import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import t from "tap";
import { Agent, request } from "undici";
import { seededRandom } from "../../kube/index.ts";
import { freePorts, portAt } from "../../testkit/cli/free_ports.ts";
import { builtProgram } from "../built.ts";
import { startService, tailOf, untilReady } from "../cluster/processes.ts";
import { frameGarbage } from "./frames.ts";
import { plainGarbage } from "./plain.ts";
import { recordGarbage } from "./records.ts";
import { bears } from "./thrower.ts";

const seed = 20260403;

t.test(`the sandbox bears garbage, seed ${seed}`, async (t) => {
  const random = seededRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), "refit-garbage-"));
  const port = portAt(await freePorts(1), 0);
  const kubeconfig = join(folder, "kubeconfig");
  const words = [
    "up",
    `--port=${port}`,
    "--nodes=1",
    "--pods=1",
    "--timing=fast",
    `--kubeconfig-out=${kubeconfig}`,
  ];
  const sandbox = startService("sandbox", process.execPath, [builtProgram("refit"), ...words], {
    logFolder: folder,
  });
  t.teardown(async () => {
    await sandbox.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  let admin: Agent | undefined;
  t.teardown(() => admin?.close());
  const pods = async (): Promise<number> => {
    admin ??= adminOf(kubeconfig);
    const answer = await request(`https://127.0.0.1:${port}/api/v1/pods`, { dispatcher: admin });
    await answer.body.dump();
    return answer.statusCode;
  };
  await untilReady(sandbox, async () => (await pods()) === 200, 60_000);
  await bears(
    t,
    {
      pid: sandbox.pid,
      exitCode: () => sandbox.exitCode(),
      log: () => tailOf(sandbox.logFile, 60),
      ask: async () => assert.equal(await pods(), 200),
    },
    [
      { port: { number: port, behind: "nothing" }, garbage: recordGarbage(random) },
      { port: { number: port, behind: "tls" }, garbage: plainGarbage(random) },
      { port: { number: port, behind: "h2" }, garbage: frameGarbage(random) },
    ],
  );
});

/** Throws until the kubeconfig is whole. */
function adminOf(kubeconfig: string): Agent {
  const text = readFileSync(kubeconfig, "utf8");
  const data = (name: string): Buffer => {
    const found = new RegExp(`${name}: "?([A-Za-z0-9+/=]+)`).exec(text)?.[1];
    if (found === undefined) throw new Error(`no ${name} in ${kubeconfig}`);
    return Buffer.from(found, "base64");
  };
  const [cert, key] = [data("client-certificate-data"), data("client-key-data")];
  return new Agent({ connect: { cert, key, rejectUnauthorized: false } });
}
