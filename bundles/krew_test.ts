import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import t from "tap";
import { parse } from "yaml";
import { krewManifest, krewPlatforms } from "./krew.ts";

const release = {
  version: "1.2.3",
  homepage: "https://example.com/refit",
  from: "https://example.com/v1.2.3",
  sums: new Map(krewPlatforms.map(({ archive }, index) => [archive, String(index).repeat(64)])),
};

/** Krew's own checks of a manifest: internal/index/validation of kubernetes-sigs/krew. */
t.test("krew takes it", async (t) => {
  const { apiVersion, kind, metadata, spec } = parse(krewManifest(release));
  t.equal(apiVersion, "krew.googlecontainertools.github.com/v1alpha2");
  t.equal(kind, "Plugin");
  t.same(metadata, { name: "refit" }, "called as kubectl refit");
  t.match(spec.version, /^v\d+\.\d+\.\d+$/);
  t.match(spec.shortDescription, /^.{1,50}$/, "one line of krew search");
  t.equal(spec.homepage, release.homepage);
  t.equal(spec.platforms.length, 4);
  for (const { selector, uri, sha256, bin, files } of spec.platforms) {
    t.same(Object.keys(selector), ["matchLabels"]);
    t.same(Object.keys(selector.matchLabels), ["os", "arch"]);
    t.match(uri, /^https:\/\/.*\.tar\.gz$/, "krew unpacks tar.gz and zip");
    t.match(sha256, /^[a-f0-9]{64}$/);
    t.equal(bin, "refit");
    t.equal(files, undefined, "all of the archive");
  }
});

t.test("each platform, once, with the archive of its processor and that archive's checksum", async (t) => {
  const { spec } = parse(krewManifest(release));
  const rows = spec.platforms.map(
    ({ selector, uri, sha256 }: { selector: { matchLabels: object }; uri: string; sha256: string }) => [
      ...Object.values(selector.matchLabels),
      uri,
      sha256[0],
    ],
  );
  t.same(rows, [
    ["linux", "amd64", "https://example.com/v1.2.3/refit-linux-x64.tar.gz", "0"],
    ["linux", "arm64", "https://example.com/v1.2.3/refit-linux-arm64.tar.gz", "1"],
    ["darwin", "amd64", "https://example.com/v1.2.3/refit-darwin-x64.tar.gz", "2"],
    ["darwin", "arm64", "https://example.com/v1.2.3/refit-darwin-arm64.tar.gz", "3"],
  ]);
  t.throws(() => krewManifest({ ...release, sums: new Map() }), {
    name: "BundleError",
    message: "refit-linux-x64.tar.gz is not among the files of the release",
  });
});

t.test("the program reads the checksums of a folder's files, and refuses half of a call", async (t) => {
  const folder = t.testdir(Object.fromEntries(krewPlatforms.map(({ archive }) => [archive, archive])));
  const program = join(import.meta.dirname, "krew.ts");
  const flags = ["--release", folder, "--from", release.from, "--homepage", release.homepage];
  const printed = parse(execFileSync(process.execPath, [program, ...flags], { encoding: "utf8" }));
  const sums = execFileSync("sha256sum", [join(folder, "refit-darwin-arm64.tar.gz")], { encoding: "utf8" });
  t.equal(printed.spec.platforms[3].sha256, sums.slice(0, 64));
  const refused = spawnSync(process.execPath, [program, "--release", folder], { encoding: "utf8" });
  t.equal(refused.status, 2);
  t.match(refused.stderr, /^error: give --release FOLDER, --from URL and --homepage URL; see/);
});
