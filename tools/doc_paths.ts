/** Paths that documents name in backticks. A README names files from its own folder or from the root, the pages of docs/ from the root. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** What the page of a kind that does not exist makes up. */
const madeUp = /greeting/;

const pages: readonly string[] = ["docs/architecture.md", "docs/adding-a-kind.md"];

/** `file: path` for each path that is not there. */
export function lostPaths(root: string): string[] {
  const readmes = globSync("{agent,cli,controller,sandbox,testkit}/**/README.md", { cwd: root });
  return [...readmes.sort(), ...pages].flatMap((file) =>
    pathsIn(readFileSync(join(root, file), "utf8"))
      .filter((path) => !isThere(root, file, path))
      .map((path) => `${file}: ${path}`),
  );
}

function isThere(root: string, file: string, path: string): boolean {
  if (existsSync(join(root, path))) return true;
  // A bare name on a page is of whatever folder the sentence is about.
  if (pages.includes(file)) return !path.slice(0, -1).includes("/");
  return existsSync(join(root, dirname(file), path));
}

/** Names of files, and of folders with `/` at their end; no code, no patterns. */
export function pathsIn(text: string): string[] {
  const prose = text.replaceAll(/^```.*?^```/gms, "");
  const found = prose.matchAll(/`((?:[\w.-]+\/)*[\w.-]+\.(?:ts|md|mjs|proto|json)|(?:[\w.-]+\/)+)`/g);
  return [...found].map((match) => match[1] ?? "").filter((path) => !madeUp.test(path));
}
