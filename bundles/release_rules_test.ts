import { readFileSync } from "node:fs";
import t from "tap";
import {
  billProblem,
  checksumProblem,
  glibcProblem,
  repeatProblem,
  startProblem,
  versionProblem,
} from "./release_rules.ts";

t.test("a release has one version", async (t) => {
  const good = {
    packageVersion: "1.2.3",
    printed: "1.2.3",
    changelog: "# Changelog\n\n## 1.2.3\n",
    tag: "v1.2.3",
  };
  t.equal(versionProblem(good), undefined);
  t.match(
    versionProblem({ ...good, printed: "1.2.2" }),
    /package\.json says 1\.2\.3 and cli\/version\.ts 1\.2\.2/,
  );
  t.match(versionProblem({ ...good, tag: "v1.2.4" }), /the tag v1\.2\.4 is not v1\.2\.3/);
  t.match(versionProblem({ ...good, changelog: "## 1.2.2\n\n## 1.2.3\n" }), /begins with "## 1\.2\.2"/);
  t.match(versionProblem({ ...good, changelog: "none" }), /newest section/);
  const unreleased = { ...good, changelog: "## 1.2.3 (unreleased)" };
  t.match(versionProblem(unreleased), /calls 1\.2\.3 unreleased/);
  t.equal(versionProblem({ ...unreleased, tag: undefined }), undefined, "until it is released");
});

t.test("made twice, every file must be the same", async (t) => {
  const first = new Map(Object.entries({ a: "1", b: "2" }));
  t.equal(repeatProblem(first, new Map(first)), undefined);
  t.match(repeatProblem(first, new Map(Object.entries({ a: "1", b: "3", c: "4" }))), /differ: b, c$/);
});

t.test("checksums are about all files, and no others", async (t) => {
  const sums = new Map(Object.entries({ a: "1", b: "2" }));
  t.equal(checksumProblem("1  a\n2  b\n", sums), undefined);
  t.match(checksumProblem("1  a\n3  b\n4  c\n", sums), /b, c$/);
  t.match(checksumProblem("", sums), /a, b$/);
});

t.test("what the notices name is in the bill of materials, inside others as well", async (t) => {
  const bill = JSON.stringify({
    components: [
      { group: "@scope", name: "a", version: "1.0.0" },
      { name: "b", version: "2.0.0", components: [{ name: "c", version: "3.0.0-rc.1" }] },
    ],
  });
  const notices =
    "Refit (Apache-2.0)\n\n---\n\n@scope/a@1.0.0 (MIT)\n\nText (of it).\n\nc@3.0.0-rc.1 (ISC)\n";
  t.equal(billProblem(notices, bill), undefined);
  t.match(billProblem(`${notices}\nb@2.0.1 (MIT)\n`, bill), /not in the bill of materials: b@2\.0\.1$/);
  t.match(billProblem("nothing", bill), /name no package/);
});

t.test("an executable may start a fifth slower, by medians", async (t) => {
  t.equal(startProblem([100, 100, 900], [120, 119, 500]), undefined);
  t.match(startProblem([100, 101, 100], [122, 121, 10]), /1\.21 times .* 121 ms instead of 100 ms/);
});

t.test("the executable needs no newer C library than the docs say", async (t) => {
  t.equal(glibcProblem("GLIBC_2.2.5\nGLIBC_2.28\nGLIBC_2.4\n"), undefined);
  t.match(glibcProblem("GLIBC_2.4\nGLIBC_2.34\n"), /needs glibc 2\.34, docs\/install\.md says 2\.28/);
  t.match(glibcProblem(""), /no version/);
  const docs = readFileSync(new URL("../docs/install.md", import.meta.url), "utf8");
  t.match(docs, "the C library of GNU, 2.28 or newer");
});
