import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { run } from "../../testkit/cli/command_fixture.ts";
import { controllerEnvironment } from "../controller/launch.ts";
import { at, listAt } from "../fields.ts";
import { parseManifests } from "../manifest_input.ts";

const bundles = join(import.meta.dirname, "..", "..", "bundles");

/** Instructions and the rest of their lines, in order. */
function instructions(file: string): { readonly name: string; readonly rest: string }[] {
  const lines = readFileSync(join(bundles, file), "utf8").split("\n");
  return lines.flatMap((line) => {
    const [, name, rest] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    return name === undefined || rest === undefined ? [] : [{ name, rest }];
  });
}

function only(file: string, name: string): string {
  const found = instructions(file).filter((one) => one.name === name);
  t.equal(found.length, 1, `${file}: one ${name}`);
  return found[0]?.rest ?? "";
}

/** What is copied where, as in a context that is the folder `dist`. */
function copied(file: string): Map<string, string> {
  const words = instructions(file)
    .filter(({ name }) => name === "COPY")
    .map(({ rest }) => rest.split(/\s+/).filter((word) => !word.startsWith("--")));
  return new Map(words.map(([source = "", target = ""]) => [source, target]));
}

async function outputOf(config: string): Promise<unknown> {
  const loaded: { readonly default: { readonly output: unknown } } = await import(join(bundles, config));
  return loaded.default.output;
}

async function deployed(kind: string, flags: string): Promise<{ pod: unknown; container: unknown }> {
  const { stdout } = await run(`manifests ${flags}`);
  const object = parseManifests(stdout, "manifests").find((one) => one.kind === kind);
  const pod = at(object, "spec", "template", "spec");
  return { pod, container: listAt(pod, "containers")[0] };
}

t.test("the images hold what the builds write, where the commands look", async (t) => {
  t.match(await outputOf("refit.rollup.mjs"), {
    dir: "dist",
    entryFileNames: "[name].mjs",
    chunkFileNames: /^refit\//,
  });
  t.match(await outputOf("agent.rollup.mjs"), { file: "dist/agent.mjs" });
  t.same(
    [...copied("controller.Containerfile")],
    [
      ["refit.mjs", "/refit/refit.mjs"],
      ["refit/", "/refit/refit/"],
      ["refit.NOTICES.txt", "/refit/NOTICES.txt"],
    ],
  );
  for (const file of ["agent.Containerfile", "agent-deno.Containerfile"]) {
    t.same(
      [...copied(file)],
      [
        ["agent.mjs", "/refit/agent.mjs"],
        ["agent.NOTICES.txt", "/refit/NOTICES.txt"],
      ],
    );
  }
});

t.test("they start as the Deployment and the DaemonSet start them", async (t) => {
  const controller = await deployed("Deployment", "--controller-image refit:1");
  const entry: unknown = JSON.parse(only("controller.Containerfile", "ENTRYPOINT"));
  const words: unknown = JSON.parse(only("controller.Containerfile", "CMD"));
  t.match(controller, { container: { command: [entry, words].flat() } });
  const [[name, value] = []] = Object.entries(controllerEnvironment);
  t.equal(only("controller.Containerfile", "ENV"), `${name}=${value}`);
  t.ok(
    listAt(controller.container, "env").some((one) => at(one, "name") === name && at(one, "value") === value),
  );
  t.equal(only("controller.Containerfile", "USER"), "65534:65534");
  t.match(controller, { pod: { securityContext: { runAsUser: 65_534, runAsNonRoot: true } } });
  for (const [file, runtime] of [
    ["agent.Containerfile", "node"],
    ["agent-deno.Containerfile", "deno"],
  ] as const) {
    const agent = await deployed("DaemonSet", `--agent-image refit-agent:1 --agent-runtime ${runtime}`);
    const program: unknown = JSON.parse(only(file, "CMD"));
    t.match(agent, { container: { command: program, securityContext: { runAsUser: 0 } } });
    t.equal(only(file, "USER"), "0:0");
  }
});
