import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { lostPaths, pathsIn } from "./doc_paths.ts";

t.test("files that documents name are there", async (t) => {
  t.same(lostPaths(join(import.meta.dirname, "..")), []);
});

t.test("paths are read from prose alone", async (t) => {
  const text = "`a.ts`, `b/c.ts` and `d/`, `../e.ts`, `f(x)`, `kind.ts: g`\n```ts\n`h.ts`\n```\n`i.md`";
  t.same(pathsIn(text), ["a.ts", "b/c.ts", "d/", "../e.ts", "i.md"]);
});

t.test("a file that moved is told with the page that names it", async (t) => {
  const root = t.testdir({});
  const write = (path: string, text: string): void => {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write(
    "controller/kinds/a/README.md",
    "`plan.ts`, `../../top.ts`, `controller/top.ts`, `gone.ts`, `controller/gone/`",
  );
  write("controller/kinds/a/plan.ts", "");
  write("controller/top.ts", "");
  write("docs/architecture.md", "`plan.ts`, `controller/top.ts`, `controller/moved.ts`");
  write("docs/adding-a-kind.md", "`crds/greeting/`");
  t.same(lostPaths(root), [
    "controller/kinds/a/README.md: gone.ts",
    "controller/kinds/a/README.md: controller/gone/",
    "docs/architecture.md: controller/moved.ts",
  ]);
});
