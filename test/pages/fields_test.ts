import { readFileSync } from "node:fs";
import t from "tap";
import { kinds, sidecarSet, workloadSpread } from "../../crds/index.ts";
import { lostFields } from "./fields.ts";

for (const kind of kinds) {
  t.test(`the page of ${kind.kind} names fields that there are`, async (t) => {
    const file = new URL(`../../docs/kinds/${kind.kind.toLowerCase()}.md`, import.meta.url);
    const page = readFileSync(file, "utf8");
    t.match(page, /^\| field \| meaning \|$/m);
    t.same(lostFields(page, kind), []);
  });
}

const page = (...rows: readonly string[]): string =>
  ["`subsets[].maxReplica` and `refit.dev/x`", "| field | meaning |", "|---|---|", ...rows].join("\n");

t.test("fields that a kind does not have are found, wherever the page names them", async (t) => {
  const rows = ["| `subsets[].maxReplicas, requiredNodeSelectorTerm` | and `patch`, `path`, `Adaptive` |"];
  t.same(lostFields(page(...rows), workloadSpread), [
    "spec.subsets[].requiredNodeSelectorTerm",
    "path",
    "spec.subsets[].maxReplica",
  ]);
});

t.test("a row that speaks of v1alpha1 may name its fields", async (t) => {
  const lost = (meaning: string): string[] =>
    lostFields(page(`| \`selector, namespace\` | ${meaning} |`), sidecarSet);
  t.same(lost("pods"), ["spec.namespace"]);
  t.same(lost("pods; `namespace` in v1alpha1"), []);
});
