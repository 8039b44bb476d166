/** What every runtime must do for the agent: run against the fake and a real containerd, with the client on Node and on Deno. */
import { type CriClient, stopDeadlineMs } from "../../agent/cri/client.ts";
import { AgentError, isAgentError } from "../../agent/errors.ts";
import { ContainerState, type Input, methods, type PodSandboxConfig } from "../../proto/cri/index.ts";

/** What the contract asks of a test runner; `on_tap.ts` and `on_deno.ts` have one each. */
export interface ContractTest {
  test(name: string, run: (t: ContractTest) => Promise<void>): Promise<unknown>;
  ok(value: unknown, message?: string): unknown;
  equal<T>(found: T, wanted: T, message?: string): unknown;
  same<T>(found: T, wanted: T, message?: string): unknown;
  match(found: unknown, wanted: RegExp | object): unknown;
  rejects(promise: Promise<unknown>, wanted: object, message?: string): Promise<unknown>;
}

export interface CriUnderTest {
  readonly client: CriClient;
  /** An image on the node whose default command runs until SIGTERM, and that has `sh`. */
  readonly image: string;
  /** Parts of the sandbox config that the runtime needs, for example where logs go. */
  readonly sandbox: Input<PodSandboxConfig>;
  /** A reference that no registry resolves. */
  readonly unknownImage: string;
}

const podUid = "8a7f2d6c-0000-4000-8000-000000000001";

export async function criContract(t: ContractTest, under: CriUnderTest): Promise<void> {
  const { client } = under;
  const sandboxConfig: Input<PodSandboxConfig> = {
    ...under.sandbox,
    metadata: { name: "contract", uid: podUid, namespace: "default", attempt: 0 },
    labels: { "io.kubernetes.pod.uid": podUid, "io.kubernetes.pod.name": "contract" },
  };

  await t.test("says who it is", async (t) => {
    const version = await client.call(methods.Version, { version: "0.1.0" });
    t.match(version.runtime_name, /^[a-z-]+$/);
    t.match(version.runtime_version, /\d/);
    const fs = await client.call(methods.ImageFsInfo, {});
    t.ok(fs.image_filesystems.length > 0);
  });

  await t.test("knows its images, and that it lacks others", async (t) => {
    const { image } = await client.call(methods.ImageStatus, { image: { image: under.image } });
    t.match(image?.id, /^sha256:[0-9a-f]+$/);
    const { images } = await client.call(methods.ListImages, {});
    t.ok(images.some((one) => one.id === image?.id));
    const absent = await client.call(methods.ImageStatus, { image: { image: under.unknownImage } });
    t.equal(absent.image, undefined);
  });

  await t.test("a pull that cannot work fails with the runtime's words", async (t) => {
    const failed = client.call(methods.PullImage, { image: { image: under.unknownImage } });
    await t.rejects(failed, { name: "AgentError", message: /failed to (pull|resolve)/ });
    const hostile = client.call(methods.PullImage, { image: { image: "../../$(reboot) :\u0000" } });
    await t.rejects(hostile, { name: "AgentError" });
  });

  await t.test("a sandbox and its containers", (t) => lifecycle(t, under, sandboxConfig));

  await t.test("what does not exist is NotFound", async (t) => {
    const id = "f".repeat(64);
    await t.rejects(client.call(methods.ContainerStatus, { container_id: id }), { code: "NotFound" });
    await t.rejects(client.call(methods.PodSandboxStatus, { pod_sandbox_id: id }), { code: "NotFound" });
    await t.rejects(client.call(methods.StartContainer, { container_id: id }), { code: "NotFound" });
    const listed = await client.call(methods.ListContainers, { filter: { id } });
    t.same(listed.containers, []);
    t.ok(await succeedsOrNotFound(client.call(methods.StopContainer, { container_id: id, timeout: 1 })));
    t.ok(await succeedsOrNotFound(client.call(methods.RemoveContainer, { container_id: id })));
  });

  await t.test("a call can be given up", async (t) => {
    const signal = AbortSignal.abort(new Error("no longer wanted"));
    const given = client.call(methods.ListImages, {}, { signal });
    await t.rejects(given, { name: "AgentError", code: "Aborted" });
  });
}

async function lifecycle(
  t: ContractTest,
  under: CriUnderTest,
  sandbox: Input<PodSandboxConfig>,
): Promise<void> {
  const { client, image } = under;
  const { pod_sandbox_id } = await client.call(methods.RunPodSandbox, { config: sandbox });
  const containerConfig = (attempt: number) => ({
    metadata: { name: "web", attempt },
    image: { image },
    labels: { "io.kubernetes.container.name": "web", "io.kubernetes.pod.uid": podUid },
    annotations: {
      "io.kubernetes.container.hash": "c4b85284",
      "io.kubernetes.container.restartCount": `${attempt}`,
    },
    envs: [{ key: "GREETING", value: Buffer.from("grüß dich") }],
    log_path: `web_${attempt}.log`,
  });
  const create = (attempt: number) =>
    client.call(methods.CreateContainer, {
      pod_sandbox_id,
      config: containerConfig(attempt),
      sandbox_config: sandbox,
    });
  try {
    const { container_id } = await create(0);
    await t.rejects(create(0), { code: "AlreadyExists" }, "one hand wins a name");
    await client.call(methods.StartContainer, { container_id });
    const { status, info } = await client.call(methods.ContainerStatus, { container_id, verbose: true });
    t.equal(status?.state, ContainerState.CONTAINER_RUNNING);
    t.equal(status?.annotations["io.kubernetes.container.hash"], "c4b85284");
    t.ok((status?.started_at ?? 0) > 1e18, "times are nanoseconds");
    const config: unknown = JSON.parse(info["info"] ?? "{}");
    t.match(config, {
      config: { metadata: { name: "web" }, envs: [{ key: "GREETING", value: "grüß dich" }] },
    });

    const labelSelector = { "io.kubernetes.pod.uid": podUid };
    const { containers } = await client.call(methods.ListContainers, {
      filter: { label_selector: labelSelector },
    });
    t.same(
      containers.map((one) => [one.id, one.metadata?.name, one.metadata?.attempt]),
      [[container_id, "web", 0]],
    );

    const said = await client.call(methods.ExecSync, {
      container_id,
      cmd: ["/bin/sh", "-c", 'echo "$GREETING"; echo bad >&2; exit 3'],
      timeout: 10,
    });
    t.equal(Buffer.from(said.stdout).toString(), "grüß dich\n");
    t.equal(Buffer.from(said.stderr).toString(), "bad\n");
    t.equal(said.exit_code, 3);
    const slow = client.call(methods.ExecSync, {
      container_id,
      cmd: ["/bin/sh", "-c", "sleep 20"],
      timeout: 1,
    });
    await t.rejects(slow, { code: "Timeout" });

    await client.call(methods.StopContainer, { container_id, timeout: 10 });
    const stopped = await client.call(methods.ContainerStatus, { container_id });
    t.equal(stopped.status?.state, ContainerState.CONTAINER_EXITED);
    await t.rejects(
      client.call(methods.ExecSync, { container_id, cmd: ["/bin/true"], timeout: 1 }),
      AgentError,
    );
    await client.call(methods.StopContainer, { container_id, timeout: 10 });

    const next = await create(1);
    await client.call(methods.StartContainer, next);
    const again = await client.call(methods.ContainerStatus, next);
    t.equal(again.status?.metadata?.attempt, 1);
    t.equal(again.status?.state, ContainerState.CONTAINER_RUNNING);
    // A grace of 30 hours: its deadline has more milliseconds than gRPC has digits.
    const grace = 30 * 3600;
    const longStop = { timeoutMs: stopDeadlineMs(grace) };
    await client.call(methods.StopContainer, { ...next, timeout: grace }, longStop);
    await client.call(methods.RemoveContainer, { container_id });
    await t.rejects(client.call(methods.ContainerStatus, { container_id }), { code: "NotFound" });
  } finally {
    await client.call(methods.StopPodSandbox, { pod_sandbox_id });
    await client.call(methods.RemovePodSandbox, { pod_sandbox_id });
  }
}

async function succeedsOrNotFound(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    return isAgentError(error, "NotFound");
  }
}
