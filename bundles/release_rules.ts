/** What must be true of a release, as functions of what was read; each returns what is wrong, or undefined. */

export interface Versions {
  /** Of package.json. */
  readonly packageVersion: string;
  /** That `refit version` prints. */
  readonly printed: string;
  readonly changelog: string;
  /** Of the release, such as `v1.2.3`; undefined where none is being made. */
  readonly tag: string | undefined;
}

/** One version everywhere; a release has a section in the changelog that does not call it unreleased. */
export function versionProblem({ packageVersion, printed, changelog, tag }: Versions): string | undefined {
  if (printed !== packageVersion)
    return `package.json says ${packageVersion} and cli/version.ts ${printed}: set both`;
  const heading = changelog.split("\n").find((line) => line.startsWith("## ")) ?? "";
  const [, version] = heading.split(" ");
  if (version !== packageVersion)
    return `CHANGELOG.md begins with "${heading}": its newest section must be that of ${packageVersion}`;
  if (tag === undefined) return undefined;
  if (tag !== `v${packageVersion}`) return `the tag ${tag} is not v${packageVersion}`;
  return heading.includes("unreleased") ? `CHANGELOG.md calls ${packageVersion} unreleased` : undefined;
}

/** Digests by file, made twice. */
export function repeatProblem(
  first: ReadonlyMap<string, string>,
  second: ReadonlyMap<string, string>,
): string | undefined {
  const files = new Set([...first.keys(), ...second.keys()]);
  const other = [...files].filter((file) => first.get(file) !== second.get(file));
  return other.length === 0 ? undefined : `made twice, these differ: ${other.join(", ")}`;
}

/** `written`: the text of SHA256SUMS. */
export function checksumProblem(written: string, sums: ReadonlyMap<string, string>): string | undefined {
  const listed = new Map(
    written.split("\n").flatMap((line): [string, string][] => {
      const [sum = "", file = ""] = line.split("  ");
      return file === "" ? [] : [[file, sum]];
    }),
  );
  const other = [...new Set([...listed.keys(), ...sums.keys()])].filter(
    (file) => listed.get(file) !== sums.get(file),
  );
  return other.length === 0 ? undefined : `SHA256SUMS is not about these as they are: ${other.join(", ")}`;
}

/** Every package that a bundle's notices name must be in the bill of materials. */
export function billProblem(notices: string, bill: string): string | undefined {
  const { components }: { components: Component[] } = JSON.parse(bill);
  const known = new Set(
    flat(components).map(({ group, name, version }) => `${group ? `${group}/` : ""}${name}@${version}`),
  );
  const named = [...notices.matchAll(/^(\S+@\d\S*) \([^)]+\)$/gm)].map(([, name = ""]) => name);
  if (named.length === 0) return "the notices name no package";
  const missing = named.filter((name) => !known.has(name));
  return missing.length === 0 ? undefined : `not in the bill of materials: ${missing.join(", ")}`;
}

interface Component {
  readonly group?: string;
  readonly name: string;
  readonly version?: string;
  readonly components?: Component[];
}

/** A package that needs a version of its own of another one has it inside. */
function flat(components: readonly Component[]): Component[] {
  return components.flatMap((one) => [one, ...flat(one.components ?? [])]);
}

/** The C library of GNU that docs/install.md asks for: 2.28. */
const promisedGlibc = 28;

/** `symbols`: text that holds the versions which an executable of Linux is linked against, such as `GLIBC_2.17`. */
export function glibcProblem(symbols: string): string | undefined {
  const minors = [...symbols.matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor));
  if (minors.length === 0) return "it names no version of the C library";
  const newest = Math.max(...minors);
  if (newest <= promisedGlibc) return undefined;
  return `it needs glibc 2.${newest}, docs/install.md says 2.${promisedGlibc}: set both`;
}

/** The executable may take so much longer than the modules. */
export const longestStart = 1.2;

/** Milliseconds of a start, several times each. */
export function startProblem(modules: readonly number[], executable: readonly number[]): string | undefined {
  const ratio = median(executable) / median(modules);
  if (ratio <= longestStart) return undefined;
  return `the executable takes ${ratio.toFixed(2)} times as long to start as the modules, not ${longestStart}: ${median(executable).toFixed(0)} ms instead of ${median(modules).toFixed(0)} ms`;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
