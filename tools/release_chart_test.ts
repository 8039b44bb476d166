import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { objectsIn } from "../testkit/cli/chart_model.ts";
import { readChart } from "../testkit/cli/fake_helm.ts";
import { helm, helmMissing } from "../testkit/cli/helm_fixture.ts";
import { version } from "./chart.ts";
import { releaseChart } from "./release_chart.ts";

const registry = "registry.example:5000/some/refit";

function written(t: Test): string {
  const folder = join(t.testdir(), "refit");
  for (const [path, text] of releaseChart(registry)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

/** Of all objects, those of hooks too. */
function imagesOf(rendered: string): string[] {
  return [...JSON.stringify(objectsIn(rendered)).matchAll(/"image":"([^"]+)"/g)].map(
    ([, image = ""]) => image,
  );
}

t.test("without values, and with those of OpenKruise's chart, the images are the release's", async (t) => {
  const chart = readChart(written(t));
  const reference = { manager: { image: { repository: "openkruise/kruise-manager", tag: "v1.9.0" } } };
  for (const given of [{}, reference]) {
    const images = imagesOf(chart.render(chart.valuesWith(given)));
    t.same([...new Set(images)].sort(), [
      `${registry}/agent:${version}`,
      `${registry}/controller:${version}`,
    ]);
  }
  const own = { manager: { image: { repository: "own/controller", tag: "7" } } };
  t.ok(imagesOf(chart.render(chart.valuesWith(own))).includes("own/controller:7"));
});

t.test(
  "no file names the images of a clone any more, and programs in the images keep their paths",
  async (t) => {
    const files = releaseChart(registry);
    t.ok(files.size > 20);
    for (const [path, text] of files)
      t.notMatch(text, /(?<![\w/.-])refit\/(controller|agent)(?![\w.-])/, path);
    t.match(files.get("templates/daemon.yaml"), /- \/refit\/agent\.mjs/);
  },
);

t.test("helm packs it", { skip: helmMissing }, async (t) => {
  const folder = written(t);
  t.match(await helm(t.testdirName, "lint", folder), { code: 0 });
  t.match(await helm(t.testdirName, "package", folder, "--destination", t.testdirName), {
    code: 0,
    stdout: new RegExp(`refit-${version}\\.tgz`),
  });
});
