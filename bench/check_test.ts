import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { resolveReference } from "./check.ts";

t.test("what a check compares with", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "refit-bench-git-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const git = (...args: string[]): string =>
    execFileSync("git", ["-C", folder, "-c", "user.name=t", "-c", "user.email=t@t", ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  const commit = (): string => {
    git("commit", "--allow-empty", "-m", "x");
    return git("rev-parse", "HEAD");
  };
  git("init", "-q");
  const first = commit();
  await t.rejects(resolveReference(folder, undefined), { message: /no earlier tag .* --against/ });
  git("tag", "v1");
  const second = commit();
  t.same(await resolveReference(folder, undefined), { name: "v1", commit: first });
  git("tag", "v2");
  t.same(await resolveReference(folder, undefined), { name: "v1", commit: first }, "not with itself");
  commit();
  t.same(await resolveReference(folder, undefined), { name: "v2", commit: second });
  t.same(await resolveReference(folder, "HEAD~2"), { name: "HEAD~2", commit: first });
  await t.rejects(resolveReference(folder, "nowhere"), { message: /there is no commit "nowhere"/ });
});
