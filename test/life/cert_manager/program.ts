import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { listAt, textAt } from "../../../cli/index.ts";
import { bundlesOf } from "../../cases/trusted_authorities.ts";
import type { World } from "../../cases/world.ts";
import { isRecord } from "../../cluster/api.ts";
import { type Service, startService } from "../../cluster/processes.ts";
import { cachedPrograms } from "../../cluster/settings.ts";
import { systemNamespace } from "../installation.ts";
import {
  certificateName,
  type Definition,
  type Issuer,
  issued,
  readDefinitions,
  secretFiles,
} from "./issuer.ts";

const run = promisify(execFile);

/** cert-manager itself, with its own definitions. */
export class CertManager implements Issuer {
  readonly definitions: readonly Definition[];
  readonly #world: World;
  readonly #program: string;
  readonly #logs: string;
  #service: Service | undefined;

  private constructor(world: World, folder: string, logs: string) {
    this.#world = world;
    this.#program = join(folder, "certmanager");
    this.#logs = logs;
    this.definitions = readDefinitions(folder);
  }

  /** Builds a release, such as `1.21.2`, unless it was; what it says goes into a file in `logs`. */
  static async of(release: string, world: World, logs: string): Promise<CertManager> {
    const folder = cachedPrograms("cert-manager", release, process.env);
    await run(join(import.meta.dirname, "build.sh"), [release, folder]);
    return new CertManager(world, folder, logs);
  }

  async issue(): Promise<void> {
    const former = await this.#certificate();
    if (this.#service === undefined) this.#start();
    else await this.#askForRenewal();
    await this.#world.until(
      "cert-manager has issued",
      async () => {
        assert.equal(this.#service?.exitCode(), undefined, "cert-manager runs");
        const certificate = await this.#certificate();
        assert.ok(certificate !== undefined && certificate !== former);
      },
      { timeoutMs: 60_000 },
    );
  }

  #start(): void {
    this.#service = startService("cert-manager", this.#program, [this.#world.kubeconfig], {
      logFolder: this.#logs,
    });
  }

  /** As its command line does. */
  async #askForRenewal(): Promise<void> {
    const { api } = this.#world;
    const certificate = await api.get(issued.certificates, certificateName, systemNamespace);
    const lastTransitionTime = new Date().toISOString().replace(/\.\d+/, "");
    const asked = { type: "Issuing", status: "True", reason: "ManuallyTriggered", lastTransitionTime };
    const others = listAt(certificate, "status", "conditions").filter(
      (condition) => isRecord(condition) && textAt(condition, "type") !== "Issuing",
    );
    const status = { conditions: [...others, asked] };
    await api.patch(issued.certificates, certificateName, systemNamespace, "merge", { status }, "status");
  }

  /** Fingerprint of what the Secret holds. */
  async #certificate(): Promise<string | undefined> {
    const text = (await secretFiles(this.#world.api))?.["tls.crt"];
    return text ? new X509Certificate(text).fingerprint256 : undefined;
  }

  async inject(): Promise<void> {
    await this.#world.until(
      "its injector has written the authority everywhere",
      async () => {
        const authority = (await secretFiles(this.#world.api))?.["ca.crt"] ?? "";
        const bundle = Buffer.from(authority).toString("base64");
        for (const [place, found] of await bundlesOf(this.#world.api)) assert.equal(found, bundle, place);
      },
      { timeoutMs: 60_000 },
    );
  }

  async stop(): Promise<void> {
    await this.#service?.stop();
  }
}
