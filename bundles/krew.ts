/**
 * The plugin manifest of a release, for `kubectl krew install --manifest`: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/.
 * `npm run --silent krew -- --release FOLDER --from URL` prints it for the archives in the folder of a release.
 */
import { parseArgs } from "node:util";
import { stringify } from "yaml";
import { refitVersion } from "../cli/index.ts";
import { checksumsOf } from "./checksums.ts";
import { BundleError, messageOf } from "./errors.ts";

/** Platforms of a release, by krew's names, with the archive that holds the executable `refit`. */
export const krewPlatforms = [
  { os: "linux", arch: "amd64", archive: "refit-linux-x64.tar.gz" },
  { os: "linux", arch: "arm64", archive: "refit-linux-arm64.tar.gz" },
  { os: "darwin", arch: "amd64", archive: "refit-darwin-x64.tar.gz" },
  { os: "darwin", arch: "arm64", archive: "refit-darwin-arm64.tar.gz" },
] as const;

export interface KrewRelease {
  /** Without `v`. */
  readonly version: string;
  /** Where people read about it. */
  readonly homepage: string;
  /** Address of the folder that the archives are downloaded from. */
  readonly from: string;
  /** SHA-256 in hex by the name of the file. */
  readonly sums: ReadonlyMap<string, string>;
}

/** YAML. Throws BundleError when an archive has no checksum. */
export function krewManifest({ version, homepage, from, sums }: KrewRelease): string {
  const manifest = {
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "refit" },
    spec: {
      version: `v${version}`,
      homepage,
      shortDescription: "Roll out OpenKruise workloads in place",
      description,
      platforms: krewPlatforms.map(({ os, arch, archive }) => ({
        selector: { matchLabels: { os, arch } },
        uri: `${from}/${archive}`,
        sha256: sumOf(archive, sums),
        bin: "refit",
      })),
    },
  };
  return stringify(manifest, { blockQuote: "literal" });
}

const description = `Rolls out CloneSets and the other workloads of OpenKruise, in place, and says why a rollout
does not go on. "kubectl refit up" starts a cluster to try it, "kubectl refit install" installs
the controller, "kubectl refit --help" lists the rest.
`;

function sumOf(archive: string, sums: ReadonlyMap<string, string>): string {
  const sum = sums.get(archive);
  if (sum === undefined) throw new BundleError(`${archive} is not among the files of the release`);
  return sum;
}

const usage = `npm run --silent krew -- --release FOLDER --from URL --homepage URL

Prints krew's manifest of the plugin for the archives of the executables in a folder.

  --release FOLDER  Has the archives: ${krewPlatforms.map(({ archive }) => archive).join(", ")}.
  --from URL        Where they will be downloaded from, without a slash at the end.
  --homepage URL    Where people read about it.
  --help            Print this.
`;

async function run(): Promise<string> {
  const text = { type: "string", default: "" } as const;
  const { values } = parseArgs({
    options: { release: text, from: text, homepage: text, help: { type: "boolean" } },
  });
  if (values.help) return usage;
  const { release, from, homepage } = values;
  if (release === "" || from === "" || homepage === "")
    throw new BundleError("give --release FOLDER, --from URL and --homepage URL", { exitCode: 2 });
  return krewManifest({ version: refitVersion, homepage, from, sums: await checksumsOf(release) });
}

if (import.meta.main) {
  try {
    process.stdout.write(await run());
  } catch (error) {
    process.stderr.write(`error: ${messageOf(error)}; see "npm run krew -- --help"\n`);
    process.exitCode = error instanceof BundleError ? error.exitCode : 2;
  }
}
