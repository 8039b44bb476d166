import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { systemClock } from "../../kube/index.ts";
import { encode, ListImagesResponse, methods } from "../../proto/cri/index.ts";
import { type FakeCri, type FakeCriOptions, startFakeCri } from "../../testkit/cri/fake_cri.ts";
import { criContract } from "../../testkit/cri_contract/contract.ts";
import { criContractOnDeno } from "../../testkit/cri_contract/deno_fixture.ts";
import { underTap } from "../../testkit/cri_contract/on_tap.ts";
import { createCriClient } from "./client.ts";

async function temporarySocket(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "refit-cri-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return join(folder, "containerd.sock");
}

async function fake(t: Test, options: Partial<FakeCriOptions> = {}): Promise<FakeCri & { socket: string }> {
  const socket = await temporarySocket(t);
  const server = await startFakeCri({ socket, clock: systemClock, ...options });
  t.teardown(() => server.stop());
  server.runtime.addImage("localhost/web:1", `sha256:${"ab".repeat(32)}`);
  server.runtime.exec = (container, command) => {
    const script = command.at(-1) ?? "";
    if (script.startsWith("sleep ")) return { ms: Number(script.slice(6)) * 1000 };
    const greeting = container.config.envs.find((env) => env.key === "GREETING")?.value ?? new Uint8Array(0);
    return {
      stdout: `${Buffer.from(greeting)}\n`,
      stderr: "bad\n",
      exitCode: Number(/exit (\d+)/.exec(script)?.[1]),
    };
  };
  return { ...server, socket };
}

function connect(t: Test, socket: string, maxResponseBytes?: number) {
  const client = createCriClient(socket, {
    clock: systemClock,
    ...(maxResponseBytes === undefined ? {} : { maxResponseBytes }),
  });
  t.teardown(() => client.close());
  return client;
}

t.test("the contract, on the fake", async (t) => {
  const { socket } = await fake(t);
  await criContract(underTap(t), {
    client: connect(t, socket),
    image: "localhost/web:1",
    sandbox: {},
    unknownImage: "127.0.0.1:1/nothing:1",
  });
});

t.test("the contract, on the fake, with the client on Deno", async (t) => {
  const { socket } = await fake(t);
  await criContractOnDeno(t, {
    socket,
    image: "localhost/web:1",
    unknownImage: "127.0.0.1:1/nothing:1",
  });
});

t.test("a call that hangs ends in Timeout, and others go on", async (t) => {
  const server = await fake(t);
  server.faults.set("ListImages", { kind: "hang" });
  const client = connect(t, server.socket);
  await t.rejects(client.call(methods.ListImages, {}, { timeoutMs: 50 }), { code: "Timeout" });
  t.equal((await client.call(methods.Version, {})).runtime_name, "containerd");
});

t.test("damaged, truncated and too large answers are errors with their own codes", async (t) => {
  const server = await fake(t);
  const client = connect(t, server.socket, 4096);
  server.faults.set("ListImages", { kind: "bytes", bytes: Uint8Array.of(0x0a, 0x7f, 0x01) });
  await t.rejects(client.call(methods.ListImages, {}), { code: "Decode", message: /damaged/ });
  const images = Array.from({ length: 500 }, (_, index) => ({
    id: `sha256:${index}`,
    repo_tags: ["a", "b"],
  }));
  server.faults.set("ListImages", { kind: "bytes", bytes: encode(ListImagesResponse, { images }) });
  await t.rejects(client.call(methods.ListImages, {}), { code: "TooLarge" });
  server.faults.delete("ListImages");
  t.equal((await client.call(methods.ListImages, {})).images.length, 1);
});

t.test("an unknown method is Unimplemented", async (t) => {
  const { socket } = await fake(t, { missing: ["ImageFsInfo"] });
  await t.rejects(connect(t, socket).call(methods.ImageFsInfo, {}), { code: "Unimplemented" });
});

t.test("a pull in flight is cancelled at the runtime", async (t) => {
  const server = await fake(t);
  server.runtime.registry.set("slow:1", { id: "sha256:5107", pullMs: 60_000 });
  const abort = new AbortController();
  const pull = connect(t, server.socket).call(
    methods.PullImage,
    { image: { image: "slow:1" } },
    { signal: abort.signal },
  );
  while (server.runtime.pulls.length === 0) await systemClock.sleep(1);
  abort.abort(new Error("stopped"));
  await t.rejects(pull, { code: "Aborted", message: /stopped/ });
});
