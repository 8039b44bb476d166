import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { systemClock } from "../../kube/index.ts";
import { methods, NamespaceMode } from "../../proto/cri/index.ts";
import { containerdMissing, startContainerd } from "../../testkit/cri/containerd_fixture.ts";
import { criContract } from "../../testkit/cri_contract/contract.ts";
import { criContractOnDeno } from "../../testkit/cri_contract/deno_fixture.ts";
import { underTap } from "../../testkit/cri_contract/on_tap.ts";
import { createCriClient } from "./client.ts";

const missing = containerdMissing();

t.test("the contract, on a real containerd", { skip: missing ?? false }, async (t) => {
  const containerd = await startContainerd();
  t.teardown(() => containerd.stop());
  const client = createCriClient(containerd.socket, { clock: systemClock });
  t.teardown(() => client.close());
  const logs = join(containerd.folder, "logs");
  await mkdir(logs);
  const onTheHost = { namespace_options: { network: NamespaceMode.NODE } };
  await criContract(underTap(t), {
    client,
    image: containerd.image,
    sandbox: { log_directory: logs, linux: { security_context: onTheHost } },
    unknownImage: "127.0.0.1:1/nothing:1",
  });

  await t.test("the contract, with the client on Deno", (t) =>
    criContractOnDeno(t, {
      socket: containerd.socket,
      image: containerd.image,
      unknownImage: "127.0.0.1:1/nothing:1",
      logFolder: logs,
      onTheHost: true,
    }),
  );

  await t.test("killed and started again: calls fail as Unavailable, then work", async (t) => {
    await containerd.kill();
    await t.rejects(client.call(methods.Version, {}), { code: "Unavailable" });
    await containerd.start();
    let name = "";
    for (let round = 0; round < 200 && name === ""; round++) {
      name = await client.call(methods.Version, {}).then(
        (version) => version.runtime_name,
        () => systemClock.sleep(50).then(() => ""),
      );
    }
    t.equal(name, "containerd");
  });
});
