import { readdirSync, readFileSync } from "node:fs";
import t from "tap";
import { kinds } from "../../crds/index.ts";
import { blocksOf, comparable, linesOf, stepsOf, withBlocks } from "./page.ts";
import { pages } from "./pages.ts";

const page = "Text\n```console\n$ one\na-x7k2p  5s\n$ two\n```\nend\n```yaml x.yaml\na: 1\n```\n";

t.test("a page is read, and written with other outputs", async (t) => {
  const blocks = blocksOf(page);
  t.same(
    blocks.map(({ info, start }) => [info, start]),
    [
      ["console", 2],
      ["yaml x.yaml", 8],
    ],
  );
  const [console, manifest] = blocks;
  if (console === undefined || manifest === undefined) throw new Error("no blocks");
  const steps = stepsOf(console);
  t.same(steps, [
    { command: "one", output: ["a-x7k2p  5s"] },
    { command: "two", output: [] },
  ]);
  t.same(linesOf(steps), console.lines);
  const changes = new Map([
    [console, ["$ one"]],
    [manifest, ["a: 2", "b: 3"]],
  ]);
  t.equal(withBlocks(page, changes), "Text\n```console\n$ one\n```\nend\n```yaml x.yaml\na: 2\nb: 3\n```\n");
  t.throws(() => blocksOf("```yaml\n"), /has no end/);
});

t.test("what differs from run to run is not compared; all else is", async (t) => {
  const one = ["NAME       AGE", "web-b4xv9  5s", "web-x7k2p  1m5s   10.0.0.4"];
  const other = ["NAME  AGE", "web-zzzzz  7m   10.0.0.17", "web-26789  12.5s"];
  t.same(comparable(one), comparable(other));
  t.notSame(comparable(["web-b4xv9  1/1  5s"]), comparable(["web-b4xv9  0/1  5s"]));
  t.same(comparable(["web-2456h  5s"]), comparable(["web-b4xv9  5s"]), "a suffix that reads as an age");
  t.same(
    comparable(["web-24567898-b4xv9"]),
    comparable(["web-29013313-24567"]),
    "a minute and a suffix of digits",
  );
  t.notSame(comparable(["a", "b"]), comparable(["b", "a"]), "the order of given names counts");
});

t.test("every kind has a page, and every page is run", async (t) => {
  const folder = new URL("../../docs/kinds/", import.meta.url);
  const files = readdirSync(folder).filter((name) => name !== "README.md");
  t.same(files.sort(), kinds.map(({ kind }) => `${kind.toLowerCase()}.md`).sort());
  t.same(
    Object.values(pages)
      .flat()
      .map((name) => `${name}.md`)
      .sort(),
    files,
  );
});

t.test("every example is shown by a page, and every manifest of a page is an example", async (t) => {
  const shown = Object.values(pages)
    .flat()
    .flatMap((name) =>
      blocksOf(readFileSync(new URL(`../../docs/kinds/${name}.md`, import.meta.url), "utf8")),
    )
    .flatMap(({ info }) => (info.startsWith("yaml examples/") ? [info.replace("yaml examples/", "")] : []));
  const examples = readdirSync(new URL("../../examples/", import.meta.url));
  t.same([...new Set(shown)].sort(), examples.filter((name) => name.endsWith(".yaml")).sort());
});
