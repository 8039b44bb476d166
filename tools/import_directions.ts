/** Which room may import which, and through which doors. docs/architecture.md draws them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative, sep } from "node:path";

/** Rooms from the bottom up; each may import those it names. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  proto: [],
  "kube/core": [],
  kube: ["kube/core", "proto"],
  crds: ["kube/core"],
  node: ["kube/core", "crds"],
  controller: ["kube/core", "kube", "crds"],
  agent: ["kube/core", "kube", "crds", "proto", "node"],
  sandbox: ["kube/core", "crds", "proto", "node"],
  cli: ["kube/core", "kube", "crds", "node", "controller", "agent", "sandbox", "proto"],
  bench: ["kube/core", "kube", "crds", "node", "controller", "agent", "sandbox", "proto", "cli"],
  simulation: ["kube/core", "kube", "crds", "node", "controller", "agent", "sandbox", "proto"],
  bundles: ["kube/core", "kube", "crds", "node", "controller", "agent", "sandbox", "proto", "cli"],
  tools: ["kube/core", "kube", "crds", "node", "controller", "agent", "sandbox", "proto", "cli"],
  test: [
    "kube/core",
    "kube",
    "crds",
    "node",
    "controller",
    "agent",
    "sandbox",
    "proto",
    "cli",
    "bench",
    "simulation",
  ],
};

/**
 * Stand-ins, builders and models for tests. It stands beside the code as tests do, so it may import any file; tests
 * may import any file of it, and so may the bench, which measures on stand-ins too.
 */
const testkit = "testkit";

function mayImportTestkit(file: string): boolean {
  return /_(test|bench)\.ts$/.test(file) || ["test", "bench"].includes(roomOf(file) ?? "");
}

/**
 * Floors of the controller from the bottom up; each may import those before it, and a kind no other kind. Files beside the
 * floors stand on top and import all of them.
 */
const floors: readonly string[] = ["plan", "native", "rollout", "runtime", "pod_webhook", "kinds"];

/** What a file of the controller may not import though its room may. Tests and benches import what they need. */
function floorRefusal({ from, to }: Arrow): string | undefined {
  if (/_(test|bench)\.ts$/.test(from)) return undefined;
  const [source, target] = [floorOf(from), floorOf(to)];
  if (source.height < target.height) {
    return `${from} imports ${to}: ${source.name} may not import ${target.name}, which is above it`;
  }
  if (source.height === target.height && source.name !== target.name) {
    return `${from} imports ${to}: a kind may not import another kind's folder`;
  }
  return undefined;
}

function floorOf(file: string): { height: number; name: string } {
  const [, folder = "", kind = ""] = file.split("/");
  const height = floors.indexOf(folder);
  if (height < 0) return { height: floors.length, name: "controller" };
  return { height, name: folder === "kinds" ? `kinds/${kind}` : folder };
}

/** Files of a room that others may import. */
const doors: Readonly<Record<string, readonly string[]>> = {
  proto: ["proto/index.ts", "proto/core/index.ts", "proto/cri/index.ts"],
  "kube/core": ["kube/core/index.ts", "kube/core/label_selectors.ts"],
  cli: ["cli/index.ts", "cli/install/index.ts", "cli/controller/metrics.ts", "cli/ui/plots/index.ts"],
};

/** Rooms of what ships. */
const products: readonly string[] = [
  "proto",
  "kube/core",
  "kube",
  "crds",
  "node",
  "controller",
  "agent",
  "sandbox",
  "cli",
];

export const rooms = [...Object.keys(mayImport), testkit];

export function roomOf(file: string): string | undefined {
  if (file.startsWith("kube/core/")) return "kube/core";
  const top = file.split("/")[0] ?? "";
  return rooms.includes(top) ? top : undefined;
}

function doorsOf(room: string): readonly string[] {
  return doors[room] ?? [`${room}/index.ts`];
}

export interface Arrow {
  /** Path from the project's root, with `/`. */
  from: string;
  to: string;
}

/** What is wrong with an import between files, or undefined. */
export function refusal({ from, to }: Arrow): string | undefined {
  const source = roomOf(from);
  const target = roomOf(to);
  if (source === undefined || target === undefined) return undefined;
  if (source === target) return source === "controller" ? floorRefusal({ from, to }) : undefined;
  if (source === testkit) return undefined;
  if (target === testkit)
    return mayImportTestkit(from) ? undefined : `${from} imports ${to}: only tests may import ${testkit}`;
  // A sandbox that used the client could not test it.
  if (!(mayImport[source] ?? []).includes(target))
    return `${from} imports ${to}: ${source} may not import ${target}`;
  // kube/core is a part of kube with a door of its own for those below it.
  if (source === "kube" && target === "kube/core") return undefined;
  if (doorsOf(target).includes(to)) return undefined;
  return `${from} imports ${to}: only ${doorsOf(target).join(", ")} may be imported from outside ${target}`;
}

const importPattern =
  /(?:^|[\s;])(?:import|export)\s(?:[^"'`;]*?\sfrom\s)?["'](\.{1,2}\/[^"']+)["']|import\(\s*["'](\.{1,2}\/[^"']+)["']\s*\)/g;

export function importsOf(text: string): string[] {
  return [...text.matchAll(importPattern)].map((match) => match[1] ?? match[2] ?? "");
}

/** All arrows between the files of the rooms under `root`. */
export function arrowsIn(root: string): Arrow[] {
  const arrows: Arrow[] = [];
  for (const room of new Set(rooms.map((name) => name.split("/")[0] ?? ""))) {
    for (const file of filesIn(join(root, room))) {
      const from = relative(root, file).split(sep).join("/");
      for (const target of importsOf(readFileSync(file, "utf8"))) {
        const to = normalize(join(dirname(from), target))
          .split(sep)
          .join("/");
        arrows.push({ from, to });
      }
    }
  }
  return arrows;
}

function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter(
      (path) =>
        /(?<!\.d)\.ts$/.test(path) && !path.split(sep).some((step) => /^(gen|node_modules)$/.test(step)),
    )
    .map((path) => join(folder, path));
}

/** Files of product rooms that tests alone import: their place is the testkit. */
export function doublesIn(arrows: readonly Arrow[]): string[] {
  const importers = new Map<string, string[]>();
  for (const { from, to } of arrows) importers.set(to, [...(importers.get(to) ?? []), from]);
  return [...importers]
    .filter(([file]) => products.includes(roomOf(file) ?? "") && !mayImportTestkit(file))
    .filter(([, from]) => from.every((file) => mayImportTestkit(file) || roomOf(file) === testkit))
    .filter(([file]) => !doorsOf(roomOf(file) ?? "").includes(file))
    .map(([file]) => file);
}

/** Files that import each other in a circle, one line a circle; type imports count as well. */
export function cyclesIn(arrows: readonly Arrow[]): string[] {
  const targets = new Map<string, string[]>();
  for (const { from, to } of arrows) targets.set(from, [...(targets.get(from) ?? []), to]);
  const done = new Set<string>();
  const cycles: string[] = [];
  const walk = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file);
    if (at >= 0) {
      cycles.push([...path.slice(at), file].join(" -> "));
      return;
    }
    if (done.has(file)) return;
    for (const next of targets.get(file) ?? []) walk(next, [...path, file]);
    done.add(file);
  };
  for (const file of targets.keys()) walk(file, []);
  return cycles;
}
