import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { nullLog, systemClock } from "../../kube/index.ts";
import { fromWire, methods } from "../../proto/cri/index.ts";
import { startFakeCri } from "../../testkit/cri/fake_cri.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { testLog } from "../../testkit/kube/fake_log.ts";
import { type CriClient, createCriClient } from "../cri/client.ts";
import { AgentError } from "../errors.ts";
import { ExecProbes } from "./exec_probes.ts";
import { runProbe } from "./run.ts";

const never = new AbortController().signal;

t.test("how much a command prints decides when its result is known", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "refit-execs-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const socket = join(folder, "c.sock");
  const fake = await startFakeCri({ socket, clock: systemClock });
  t.teardown(() => fake.stop());
  fake.runtime.exec = (_, [, bytes]) => ({ stdout: "x".repeat(Number(bytes)) });
  fake.runtime.addImage("localhost/web:1", "sha256:01");
  const client = createCriClient(socket, { clock: systemClock });
  t.teardown(() => client.close());
  const config = { metadata: { name: "web", uid: "u1", namespace: "default" } };
  const { pod_sandbox_id } = await client.call(methods.RunPodSandbox, { config });
  const { container_id } = await client.call(methods.CreateContainer, {
    pod_sandbox_id,
    config: { metadata: { name: "app" }, image: { image: "localhost/web:1" } },
  });
  await client.call(methods.StartContainer, { container_id });

  const log = testLog();
  const execs = new ExecProbes(systemClock, log);
  const place = { client, containerId: container_id, podIP: "", execs };
  const lengths = async (bytes: number): Promise<(number | undefined)[]> => {
    const probe = { exec: { command: ["print", `${bytes}`] } };
    const found: (number | undefined)[] = [];
    for (let run = 0; run < 4; run++) found.push((await runProbe(probe, place, never))?.message.length);
    return found;
  };
  t.same(await lengths(5), [5, 5, 5, 5]);
  t.same(await lengths(200_000), [10_240, 10_240, 10_240, 10_240]);
  t.same(await lengths(1_000_000), [undefined, 10_240, 10_240, 10_240]);
  t.same(await lengths(5_000_000), [undefined, undefined, undefined, undefined]);
  t.equal(log.lines.filter(({ level }) => level === "warn").length, 1, "said once, with what to do");
});

t.test("what may arrive at a time does not grow with the number of probes", async (t) => {
  const clock = testClock();
  let expected = 0;
  let most = 0;
  let answers = 0;
  /** Every command prints 3 MiB and takes a second. */
  const client: CriClient = {
    socket: "",
    close: () => undefined,
    async call(method, _, options) {
      const room = options?.maxResponseBytes ?? 16 * 1024 * 1024;
      expected += room;
      most = Math.max(most, expected);
      await clock.sleep(1_000);
      expected -= room;
      if (room < 3 * 1024 * 1024) throw new AgentError("TooLarge", method.name);
      answers++;
      return fromWire(method.response, new Uint8Array(0));
    },
  };
  const execs = new ExecProbes(clock, nullLog);
  const place = { client, containerId: "c", podIP: "", execs };
  const probes = Array.from({ length: 100 }, () => ({ exec: { command: ["print"] } }));
  for (let round = 0; round < 3; round++) {
    const runs = Promise.all(probes.map((probe) => runProbe(probe, place, never)));
    for (let second = 0; second <= probes.length; second++) await clock.advance(1_000);
    await runs;
  }
  t.equal(answers, 200, "all but the first round's");
  t.ok(most <= 8 * 1024 * 1024, `${most} bytes`);
});
