import { globSync, readFileSync } from "node:fs";
import t from "tap";

/** A field `reason` with what ends it beside, on its line or on a later one of the object: events and conditions have reasons, too. */
const reasons = /( *)\breason: ([^,\n]*)(?:,.*|,\n(?:\1.*\n)*?\1)\buntil\b/g;

t.test("troubleshooting.md explains each reason that `refit why` gives", async (t) => {
  const page = readFileSync(new URL("../../docs/troubleshooting.md", import.meta.url), "utf8");
  const table = /## By reason([\s\S]*?)\n## /.exec(page)?.[1] ?? "";
  const explained = new Set(
    [...table.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, words = ""]) =>
      [...words.matchAll(/`(\w+)`/g)].map(([, reason]) => reason),
    ),
  );
  const root = new URL("../../", import.meta.url);
  const sources = globSync(["cli/why/**/*.ts", "controller/**/*.ts"], { cwd: root.pathname });
  const given = sources
    .filter((name) => !name.endsWith("_test.ts"))
    .flatMap((name) => [...readFileSync(new URL(name, root), "utf8").matchAll(reasons)])
    .flatMap(([, , value = ""]) => [...value.matchAll(/(?<!=== )"([A-Z]\w+)"/g)])
    .map(([, reason]) => reason);
  const planned = readFileSync(new URL("cli/why/plan_causes.ts", root), "utf8");
  const ofPlans = [...planned.matchAll(/reasons\("\w+", "([\w ]+)"\)/g)].flatMap(([, words = ""]) =>
    words.split(" "),
  );
  t.ok(given.length > 60 && ofPlans.length > 30);
  t.same(
    [...new Set([...given, ...ofPlans])].filter(
      (reason) => reason !== "ErrImagePull" && !explained.has(reason),
    ),
    [],
  );
});
