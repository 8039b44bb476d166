/** Reads the parts of a report and writes them into a folder. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { kinds, storageVersion } from "../../crds/index.ts";
import type { Client } from "../../kube/index.ts";
import type { Call } from "../command.ts";
import { CliError, describeError } from "../errors.ts";
import { listAt, textAt } from "../fields.ts";
import { refitVersion } from "../version.ts";
import { objectParts, type Part, podParts } from "./parts.ts";
import { redacted, redactedText } from "./redact.ts";

const atATime = 4;

export async function runSupportBundle(call: Call): Promise<number> {
  const { flags } = call;
  const limit = flags.integer("limit", 1, 100_000) ?? 500;
  const lines = flags.integer("log-lines", 1, 1_000_000) ?? 5000;
  const namespace = flags.required("controller-namespace");
  const workloads = flags.given("namespace") ? flags.required("namespace") : undefined;
  const { client } = await call.cluster();
  const server = await client.request("GET", "/version");
  const folder = await newFolder(flags.text("folder") ?? defaultName(call.host.clock.now()));
  const report = new Report(folder, client, call.io.signal);
  const about = {
    refit: refitVersion,
    node: process.version,
    server,
    at: new Date(call.host.clock.now()).toISOString(),
  };
  await report.write("about.json", `${JSON.stringify(about, undefined, 2)}\n`);
  const resources = kinds.map((kind) => ({ ...kind, version: storageVersion(kind).name }));
  await report.read(objectParts(resources, { namespace, workloads, limit }));
  await report.read(podParts(report.pods(namespace), lines));
  await report.end();
  call.print(`${report.written} files in ${folder}`);
  if (report.missing.length > 0) call.print(`${report.missing.length} could not be read: see missing.txt`);
  call.print("Secrets are left out. Look through it before you pass it on:");
  call.print(`  tar czf ${folder}.tar.gz ${folder}`);
  return 0;
}

function defaultName(now: number): string {
  return `refit-support-${new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-")}`;
}

/** Nobody else may read it. Throws CliError where something of that name is there already. */
async function newFolder(name: string): Promise<string> {
  try {
    await mkdir(name, { mode: 0o700 });
    return name;
  } catch (cause) {
    const why =
      cause instanceof Error && "code" in cause && cause.code === "EEXIST"
        ? "it exists already"
        : String(cause);
    throw new CliError(`cannot make folder ${resolve(name)}: ${why}; name another one with --folder`, {
      cause,
    });
  }
}

class Report {
  readonly missing: string[] = [];
  written = 0;
  readonly #folder: string;
  readonly #client: Client;
  readonly #signal: AbortSignal;
  #pods: readonly unknown[] = [];

  constructor(folder: string, client: Client, signal: AbortSignal) {
    this.#folder = folder;
    this.#client = client;
    this.#signal = signal;
  }

  /** Of the installation, once they are read. */
  pods(namespace: string): readonly unknown[] {
    return this.#pods.filter((pod) => textAt(pod, "metadata", "namespace") === namespace);
  }

  /** A part that cannot be read is no reason to leave the others out. */
  async read(parts: readonly Part[]): Promise<void> {
    const waiting = [...parts];
    const work = async (): Promise<void> => {
      for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) await this.#readOne(part);
    };
    await Promise.all(Array.from({ length: atATime }, work));
  }

  async #readOne({ file, path }: Part): Promise<void> {
    let answer: unknown;
    try {
      answer = await this.#client.request("GET", path, undefined, { signal: this.#signal });
    } catch (error) {
      this.#signal.throwIfAborted();
      this.missing.push(`${file}: ${describeError(error)}`);
      return;
    }
    if (file === "installation/pods.json") this.#pods = listAt(answer, "items");
    if ((textAt(answer, "metadata", "continue") ?? "") !== "")
      this.missing.push(`${file}: only the first objects, see --limit`);
    const text =
      typeof answer === "object"
        ? JSON.stringify(redacted(answer), undefined, 1)
        : redactedText(String(answer ?? ""));
    await this.write(file, text);
  }

  async write(file: string, text: string): Promise<void> {
    const path = join(this.#folder, file);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, text, { mode: 0o600, flag: "wx" });
    this.written += 1;
  }

  async end(): Promise<void> {
    if (this.missing.length > 0) await this.write("missing.txt", `${this.missing.toSorted().join("\n")}\n`);
  }
}
