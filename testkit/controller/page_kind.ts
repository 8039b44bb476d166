/** The kind that docs/adding-a-kind.md adds, as sources. */

/** Files by their path from the root: those of the page's two folders, and `others` with the lines that its table gives them. */
export function sourcesOnPage(page: string, others: (path: string) => string): Map<string, string> {
  const sources = filesOnPage(page);
  for (const [, path = "", cell = ""] of page.matchAll(
    /^\| `([\w/]+\.ts)` \| (.*(?:greeting|descriptor).*) \|$/gm,
  )) {
    const lines = [...cell.matchAll(/`([^`]+)`/g)].map(([, line = ""]) => line);
    sources.set(path, lines.reduce(withLine, others(path)));
  }
  const resources = "controller/plan/resources.ts";
  const [descriptor = ""] = /^export const greetingResource.*$/m.exec(page) ?? [];
  return sources.set(resources, `${sources.get(resources) ?? ""}\n${descriptor}\n`);
}

/** A block of code is the file whose name begins the paragraph before, in the folder of the heading. */
function filesOnPage(page: string): Map<string, string> {
  const files = new Map<string, string>();
  let folder = "";
  let name = "";
  const marks = /^## .*?(?:`([\w/]+\/)`)?$|^`(\w+\.ts)`, |^```ts\n(.*?)^```$/gms;
  for (const [mark, heading, named, code] of page.matchAll(marks)) {
    if (mark.startsWith("## ")) folder = heading ?? "";
    if (code !== undefined && folder !== "" && name !== "") files.set(folder + name, code);
    name = named ?? "";
  }
  return files;
}

/** Whole statements go before the others, an entry goes into the first list of the file. */
function withLine(source: string, line: string): string {
  if (/^(?:im|ex)port /.test(line)) return `${line}\n${source}`;
  return source.replace(/(?:= \[|return \[|^import \{)\n/m, (opening) => `${opening}${line}\n`);
}
