import { readdirSync, readFileSync } from "node:fs";
import t from "tap";

t.test("troubleshooting.md explains each reason that `refit why` gives for pods and workloads", async (t) => {
  const page = readFileSync(new URL("../../docs/troubleshooting.md", import.meta.url), "utf8");
  const table = /## By reason([\s\S]*?)\n## /.exec(page)?.[1] ?? "";
  const explained = new Set(
    [...table.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, words = ""]) =>
      [...words.matchAll(/`(\w+)`/g)].map(([, reason]) => reason),
    ),
  );
  const folder = new URL("../../cli/why/causes/", import.meta.url);
  const sources = readdirSync(folder).filter((name) => name.endsWith(".ts") && !name.endsWith("_test.ts"));
  const given = sources.flatMap((name) =>
    [...readFileSync(new URL(name, folder), "utf8").matchAll(/\breason: ([^,\n]*)/g)].flatMap(
      ([, value = ""]) => [...value.matchAll(/"([A-Z]\w+)"/g)].map(([, reason]) => reason),
    ),
  );
  t.ok(given.length > 20);
  t.same(
    [...new Set(given)].filter((reason) => reason !== "ErrImagePull" && !explained.has(reason)),
    [],
  );
});
