/** Commands that Refit prints, carried out as they stand: its own by the bundle, kubectl's by what they ask of the server. */
import assert from "node:assert/strict";
import { type Item, isRecord } from "../cluster/api.ts";
import { records } from "./items.ts";
import type { World } from "./world.ts";

/** Throws for a command that would fail, and for one that this does not know. */
export async function paste(world: World, command: string): Promise<void> {
  const [program, ...words] = wordsOf(command.replace(` -n ${world.namespace}`, ""));
  if (program === "refit") return await refit(world, words);
  assert.equal(program, "kubectl", `${command} is neither refit's nor kubectl's`);
  const [verb = "", ...rest] = words;
  const run = verbs[verb];
  assert.ok(run !== undefined, `kubectl ${verb} is not known here: ${command}`);
  await run(world, rest);
}

/** Answers with another code than an error's are answers, too. */
async function refit(world: World, words: readonly string[]): Promise<void> {
  const { stderr } = await world.refit(...words);
  assert.doesNotMatch(stderr, /^error/im, words.join(" "));
}

const verbs: Readonly<Record<string, (world: World, words: readonly string[]) => Promise<unknown>>> = {
  get: read,
  describe: read,
  patch,
  async logs(world, [pod = "", flag, name = ""]) {
    const { spec } = await world.pod(pod);
    const names = [...records(spec?.containers), ...records(spec?.["initContainers"])];
    assert.equal(flag, "-c");
    assert.ok(
      names.some((container) => container["name"] === name),
      `${pod} has no container ${name}`,
    );
  },
};

/** `TYPE`, `TYPE NAME` or `TYPE/NAME`; flags choose how it is printed. */
async function read(world: World, words: readonly string[]): Promise<Item | undefined> {
  const flags = words.findIndex((word) => word.startsWith("-"));
  const [type = "", name] = (flags < 0 ? words : words.slice(0, flags)).flatMap((word) => word.split("/"));
  const resource = await resourceOf(world, type);
  if (name !== undefined) return await world.object(resource, name);
  await world.list(resource);
  return undefined;
}

async function patch(world: World, [named = "", ...flags]: readonly string[]): Promise<void> {
  const [type = "", name = ""] = named.split("/");
  assert.deepEqual(flags.slice(0, -1), ["--type", "merge", "-p"]);
  await world.patch(await resourceOf(world, type), name, "merge", JSON.parse(flags.at(-1) ?? ""));
}

const groupVersions = ["v1", "apps/v1", "apps.kruise.io/v1beta1", "policy.kruise.io/v1alpha1"];

/** As kubectl finds it: by its plural, singular or short name, or by its kind and group. */
async function resourceOf({ api }: World, type: string): Promise<string> {
  for (const groupVersion of groupVersions) {
    const [group = "", version] = groupVersion.includes("/") ? groupVersion.split("/") : [""];
    const { body } = await api.request(
      "GET",
      group === "" ? `/api/${groupVersion}` : `/apis/${groupVersion}`,
    );
    for (const { name, singularName, shortNames, kind } of records(isRecord(body) ? body["resources"] : [])) {
      const plain = [name, singularName, ...(Array.isArray(shortNames) ? shortNames : [])];
      const words = [...plain, `${String(kind).toLowerCase()}.${group}`];
      if (words.includes(type)) return version === undefined ? String(name) : `${name}.${version}.${group}`;
    }
  }
  throw new Error(`the server has no resource ${type}`);
}

/** Words of a shell, with single quotes. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}
