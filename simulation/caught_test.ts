/** The table of docs/correctness.md is made from what `--mutants` recorded. `UPDATE_GOLDEN=1` rewrites it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { allCaught, table } from "./caught.ts";
import { mutants } from "./mutants.ts";

const page = join(import.meta.dirname, "..", "docs", "correctness.md");
const shown = /(?<=<!-- mutants -->\n)[\s\S]*?(?=\n<!-- \/mutants -->)/;

t.test("the page shows which mutants are caught, by what", (t) => {
  const caught = allCaught();
  const names = new Set(mutants.map(({ name }) => name));
  t.same(
    caught.filter(({ name }) => !names.has(name)),
    [],
    "what is recorded is of mutants that there are",
  );
  const expected = table(mutants, caught);
  const text = readFileSync(page, "utf8");
  if (process.env["UPDATE_GOLDEN"])
    writeFileSync(
      page,
      text.replace(shown, () => expected),
    );
  t.equal(shown.exec(readFileSync(page, "utf8"))?.[0], expected);
  t.end();
});
