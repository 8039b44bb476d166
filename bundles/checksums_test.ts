import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { checksumsFile, checksumsOf, writeChecksums } from "./checksums.ts";

t.test("every file below the folder, in order, as sha256sum reads them", async (t) => {
  const folder = t.testdir({ b: "2", a: "1", sub: { "c.txt": "3" } });
  await writeChecksums(folder);
  const first = readFileSync(join(folder, checksumsFile), "utf8");
  t.same([...(await checksumsOf(folder)).keys()], ["a", "b", "sub/c.txt"]);
  t.match(
    execFileSync("sha256sum", ["--check", checksumsFile], { cwd: folder, encoding: "utf8" }),
    /c\.txt: OK/,
  );
  await writeChecksums(folder);
  t.equal(readFileSync(join(folder, checksumsFile), "utf8"), first, "and not the checksums themselves");
  mkdirSync(join(folder, "empty"));
  writeFileSync(join(folder, "a"), "other");
  t.not((await checksumsOf(folder)).get("a"), first.slice(0, 64));
});
