/** `npm run images`: container images of what is in dist/, as an OCI layout, without a container engine. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { refitVersion } from "../cli/index.ts";
import { type Recipe, readContainerfile } from "./containerfile.ts";
import { BundleError, messageOf } from "./errors.ts";
import type { Base } from "./oci/base.ts";
import { addImage, platforms } from "./oci/derive.ts";
import { layerOf } from "./oci/layer.ts";
import { writeLayout } from "./oci/layout.ts";
import { layoutBase } from "./oci/layout_base.ts";
import { registryBase } from "./oci/registry_base.ts";

const usage = `npm run images -- [--node-base IMAGE] [--deno-base IMAGE] [flags]

Puts the controller and the agent (--node-base), and the agent on Deno (--deno-base), on a base image, as the files
bundles/*.Containerfile say, for ${platforms.join(" and ")} where the base has them.
IMAGE: oci:FOLDER[:NAME] for an OCI layout, else an image of a registry, which is read anonymously.

  --require-digests     Refuse a base of a registry that is not named by digest, as a release does: a tag may be another image
                        tomorrow.
  --out FOLDER          Where the OCI layout is written; an earlier one is replaced. Default images.
  --platform PLATFORM   Only this one, such as linux/arm64; may be given several times. The base must have it.
  --revision TEXT       Label: the commit it was made of.
  --source URL          Label: where the sources are.
  --help                Print this.

SOURCE_DATE_EPOCH (seconds) is the time of creation in the images; 0 without it. Equal input gives equal bytes.
`;

const options = {
  "node-base": { type: "string" },
  "deno-base": { type: "string" },
  "require-digests": { type: "boolean", default: false },
  out: { type: "string", default: "images" },
  platform: { type: "string", multiple: true },
  revision: { type: "string", default: "" },
  source: { type: "string", default: "" },
  help: { type: "boolean", default: false },
} as const;

/** Images by the base that they are on. */
const images = {
  "node-base": ["controller", "agent"],
  "deno-base": ["agent-deno"],
} as const;

export interface ImagesIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly signal: AbortSignal;
  /** The context of the Containerfiles: what `npm run build` and `npm run build:agent` make. */
  readonly dist: string;
}

interface TextSink {
  write(text: string): unknown;
}

/** Runs one command line; resolves to the exit code. What fails is one line on `stderr`. */
export async function main(argv: readonly string[], io: ImagesIo): Promise<number> {
  try {
    const given = parsed(argv);
    if (given.help) io.stdout.write(usage);
    else await makeImages(given, io);
    return 0;
  } catch (error) {
    io.stderr.write(`error: ${messageOf(error)}\n`);
    if (io.signal.aborted) return 130;
    return error instanceof BundleError ? error.exitCode : 1;
  }
}

type Given = ReturnType<typeof parsed>;

function parsed(argv: readonly string[]) {
  let values: ReturnType<typeof parseArgs<{ options: typeof options }>>["values"];
  try {
    ({ values } = parseArgs({ args: [...argv], options }));
  } catch (cause) {
    throw new BundleError(`${messageOf(cause)}; see "npm run images -- --help"`, { exitCode: 2, cause });
  }
  const unknown = values.platform?.find((platform) => !platforms.includes(platform));
  if (unknown !== undefined) {
    throw new BundleError(`--platform ${unknown}: must be one of ${platforms.join(", ")}`, { exitCode: 2 });
  }
  if (!values.help && values["node-base"] === undefined && values["deno-base"] === undefined) {
    throw new BundleError(
      "no base is named: give --node-base (controller, agent), --deno-base (agent on Deno) or both, such as --node-base node:24-slim",
      { exitCode: 2 },
    );
  }
  const tagged = [values["node-base"], values["deno-base"]].find(
    (base) => base !== undefined && !base.startsWith("oci:") && !/@sha256:[0-9a-f]{64}$/.test(base),
  );
  if (values["require-digests"] && tagged !== undefined) {
    throw new BundleError(
      `${tagged} is no digest: name it as IMAGE@sha256:…, which "skopeo inspect --format {{.Digest}} docker://${tagged}" tells`,
      { exitCode: 2 },
    );
  }
  return values;
}

/** RFC 3339 of a time in seconds. */
function createdAt(epoch = "0"): string {
  const milliseconds = /^\d{1,12}$/.test(epoch) ? Number(epoch) * 1000 : Number.NaN;
  const time = new Date(milliseconds);
  if (Number.isNaN(time.valueOf()))
    throw new BundleError(`SOURCE_DATE_EPOCH=${epoch}: must be seconds since 1970`, { exitCode: 2 });
  return time.toISOString();
}

async function makeImages(given: Given, { env, stdout, signal, dist }: ImagesIo): Promise<void> {
  const created = createdAt(env["SOURCE_DATE_EPOCH"]);
  const labels = new Map([
    ["VERSION", refitVersion],
    ["REVISION", given.revision],
    ["SOURCE", given.source],
  ]);
  await writeLayout(given.out, async (layout) => {
    for (const flag of ["node-base", "deno-base"] as const) {
      const name = given[flag];
      if (name === undefined) continue;
      const base = await openBase(name, signal);
      for (const image of images[flag]) {
        signal.throwIfAborted();
        const recipe = await recipeOf(image, labels);
        const layer = await layerOf(dist, recipe.copies);
        const made = await addImage(layout, { base, recipe, layer, wanted: given.platform, created });
        layout.name(made.image, image);
        stdout.write(`${image}  ${made.platforms.join(", ")}  ${made.image.digest}\n`);
      }
    }
  });
  stdout.write(
    `${given.out}: an OCI layout; "skopeo copy --all oci:${given.out}:NAME docker://…" pushes it\n`,
  );
}

async function recipeOf(image: string, labels: ReadonlyMap<string, string>): Promise<Recipe> {
  const file = `${image}.Containerfile`;
  const text = await readFile(join(import.meta.dirname, file), "utf8");
  return readContainerfile(`bundles/${file}`, text, labels);
}

function openBase(name: string, signal: AbortSignal): Promise<Base> {
  const prefix = "oci:";
  return name.startsWith(prefix) ? layoutBase(name, name.slice(prefix.length)) : registryBase(name, signal);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stopping.abort());
  const { argv, env, stdout, stderr } = process;
  const dist = join(import.meta.dirname, "..", "dist");
  process.exitCode = await main(argv.slice(2), { env, stdout, stderr, signal: stopping.signal, dist });
}
