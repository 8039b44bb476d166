/** A registry on loopback that stands in for docker.io, so that pulls (policy Always) work without a network. */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { request } from "undici";
import { testImages } from "./images.ts";
import { type Service, startService, untilReady } from "./processes.ts";

const run = promisify(execFile);

/** Starts it, pushes the archive's images, and writes the folder by which containerd finds it. */
export async function startRegistry(
  folder: string,
  port: number,
  imageArchive: string,
  certsFolder: string,
): Promise<Service> {
  const config = join(folder, "registry.yaml");
  const address = `127.0.0.1:${port}`;
  const storage = { filesystem: { rootdirectory: join(folder, "registry") }, delete: { enabled: true } };
  writeFileSync(
    config,
    JSON.stringify({ version: 0.1, log: { level: "warn" }, storage, http: { addr: address } }),
  );
  mkdirSync(join(certsFolder, "docker.io"), { recursive: true });
  writeFileSync(
    join(certsFolder, "docker.io", "hosts.toml"),
    `server = "http://${address}"\n[host."http://${address}"]\n  capabilities = ["pull", "resolve"]\n`,
  );
  const service = startService("registry", "docker-registry", ["serve", config], { logFolder: folder });
  try {
    const answers = async () => {
      const answer = await request(`http://${address}/v2/`);
      await answer.body.dump();
      return answer.statusCode === 200;
    };
    await untilReady(service, answers, 20_000);
    // One after another: all share a layer, and of two uploads of one blob at once the registry may lose both.
    for (const name of testImages)
      await pushImage(port, `docker-archive:${imageArchive}:docker.io/library/${name}`, `library/${name}`);
    return service;
  } catch (error) {
    // Nobody else knows of it yet: left running it would keep this process alive.
    await service.stop();
    throw error;
  }
}

/** `source` as skopeo names images; `as` is repository and tag. */
export async function pushImage(port: number, source: string, as: string): Promise<void> {
  const target = `docker://127.0.0.1:${port}/${as}`;
  await run("skopeo", ["copy", "--quiet", "--insecure-policy", "--dest-tls-verify=false", source, target]);
}
