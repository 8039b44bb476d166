/** Pulls from a real registry that asks for a login, through a real containerd. */
import { execFile } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { request } from "undici";
import { freePorts, portAt } from "../../testkit/cli/free_ports.ts";
import {
  type ContainerdFixture,
  containerdMissing,
  startContainerd,
} from "../../testkit/cri/containerd_fixture.ts";
import { startService, untilReady } from "../cluster/processes.ts";
import { eventually, pullTask, reached, startNode, tagStatus, wantImages } from "./fixture.ts";

const run = promisify(execFile);
const registryProgram = "/usr/bin/docker-registry";
const missing =
  containerdMissing() ?? (existsSync(registryProgram) ? undefined : `not installed: ${registryProgram}`);

const user = "captain";
const password = "harbour";
/** `htpasswd -nbB captain harbour`: bcrypt is all that the registry takes. */
const htpasswd = `${user}:$2b$04$r74al12XNN4olT9iLP.oxearHTcE6qTFGfmRk0qksnbDD4MU1RFfq\n`;

t.test("a registry with a login, a real containerd", { skip: missing ?? false }, async (t) => {
  const containerd = await startContainerd();
  t.teardown(() => containerd.stop());
  const registry = await startRegistry(t, containerd);
  const under = await startNode(t, { socket: containerd.socket });
  await under.agent.start();
  await under.agent.ready();
  const config = "kruise-daemon-config";
  for (const [name, secret] of [
    ["good", password],
    ["bad", "guess"],
  ] as const) {
    const auths = { auths: { [registry]: { username: user, password: secret } } };
    await under.api.create(
      {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name },
        type: "kubernetes.io/dockerconfigjson",
        data: { ".dockerconfigjson": Buffer.from(JSON.stringify(auths)).toString("base64") },
      },
      config,
    );
  }
  const image = (name: string): string => `${registry}/team/${name}`;
  const secrets = (...names: string[]) => names.map((name) => ({ namespace: config, name }));

  await t.test("without a login: the runtime's words; with a wrong one: no anonymous try", async (t) => {
    await wantImages(under.api, {
      [image("anonymous")]: { tags: [pullTask("1")] },
      [image("wrong")]: { tags: [pullTask("1")], pullSecrets: secrets("bad") },
    });
    for (const name of ["anonymous", "wrong"]) {
      await reached(under.api, image(name), "1", "Failed");
      t.match((await tagStatus(under.api, image(name), "1"))?.message, /401|authoriz|authentication/i);
    }
  });

  await t.test("the wrong login and then the right one: pulled, and the image is on the node", async (t) => {
    await wantImages(under.api, {
      [image("private")]: { tags: [pullTask("1")], pullSecrets: secrets("missing", "bad", "good") },
    });
    await reached(under.api, image("private"), "1", "Succeeded");
    const status = await tagStatus(under.api, image("private"), "1");
    t.match(status?.imageID, /@sha256:[0-9a-f]{64}$/);
    t.match(await containerd.ctr("images", "ls", "-q"), `${image("private")}:1`);
    t.notMatch(under.agent.log, password, "the password is in no log");
  });

  await t.test("containerd is killed and started again: found again, and pulls work", async (t) => {
    await containerd.kill();
    await eventually("not ready", async () => (await under.agent.get("/readyz")).status === 503);
    t.equal((await under.agent.get("/healthz")).status, 200);
    await containerd.start();
    await under.agent.ready();
    await wantImages(under.api, {
      [image("later")]: { tags: [pullTask("1")], pullSecrets: secrets("good") },
    });
    await reached(under.api, image("later"), "1", "Succeeded");
  });
});

/** Resolves to its address; the images `team/{anonymous,wrong,private,later}:1` are in it. */
async function startRegistry(t: Test, { folder, ctr }: ContainerdFixture): Promise<string> {
  const address = `127.0.0.1:${portAt(await freePorts(1), 0)}`;
  const users = join(folder, "htpasswd");
  const file = join(folder, "registry.yaml");
  writeFileSync(users, htpasswd);
  writeFileSync(
    file,
    JSON.stringify({
      version: 0.1,
      log: { level: "error" },
      storage: { filesystem: { rootdirectory: join(folder, "registry") } },
      http: { addr: address },
      auth: { htpasswd: { realm: "refit", path: users } },
    }),
  );
  const service = startService("registry", registryProgram, ["serve", file], { logFolder: folder });
  t.teardown(() => service.stop());
  await untilReady(
    service,
    async () => {
      const answer = await request(`http://${address}/v2/`);
      await answer.body.dump();
      return answer.statusCode === 401;
    },
    20_000,
  );
  const archive = join(folder, "pushed.tar");
  await ctr("images", "export", archive, "localhost/refit-contract:1");
  const login = ["--dest-tls-verify=false", "--dest-creds", `${user}:${password}`];
  for (const name of ["anonymous", "wrong", "private", "later"]) {
    const target = `docker://${address}/team/${name}:1`;
    await run("skopeo", ["copy", "-q", "--insecure-policy", ...login, `oci-archive:${archive}`, target]);
  }
  return address;
}
