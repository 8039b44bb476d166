/**
 * The chart of a release: its default images are those that the release pushed, so that it installs without values.
 * `node tools/release_chart.ts --registry REGISTRY --out FOLDER` writes it.
 */
import { globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { agentImage, controllerImage, root } from "./chart.ts";

const folder = join(root, "bundles/chart");

/** Text of each file by its path in the chart. `registry`: host and folder of the images, "registry.example/refit". */
export function releaseChart(registry: string): ReadonlyMap<string, string> {
  const paths = globSync("**", { cwd: folder }).filter((path) => statSync(join(folder, path)).isFile());
  return new Map(
    paths.map((path) => [path, withImagesOf(registry, readFileSync(join(folder, path), "utf8"))]),
  );
}

function withImagesOf(registry: string, text: string): string {
  const name = (image: string): string => image.slice(image.lastIndexOf("/") + 1);
  return [controllerImage, agentImage].reduce(
    // Not inside of a path, such as that of the agent's program in its image.
    (now, image) =>
      now.replaceAll(new RegExp(`(?<![\\w/.-])${image}(?![\\w.-])`, "g"), `${registry}/${name(image)}`),
    text,
  );
}

function main(): void {
  const { values } = parseArgs({ options: { registry: { type: "string" }, out: { type: "string" } } });
  const { registry, out } = values;
  if (registry === undefined || out === undefined)
    throw new Error("usage: node tools/release_chart.ts --registry REGISTRY --out FOLDER");
  for (const [path, text] of releaseChart(registry)) {
    mkdirSync(dirname(join(out, path)), { recursive: true });
    writeFileSync(join(out, path), text);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main();
