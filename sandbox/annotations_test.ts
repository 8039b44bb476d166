import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import t from "tap";
import {
  type Annotation,
  annotationErrors,
  annotations,
  deadAnnotation,
  exitAnnotation,
  listensAnnotation,
  ofContainer,
  ofObject,
  pullAnnotation,
  readyAnnotation,
} from "./annotations.ts";

const seed = 20_260_101;

t.test("values are read as documented", async (t) => {
  t.same(exitAnnotation.read("1"), { code: 1, afterMs: 0 });
  t.same(exitAnnotation.read("137@1.5s"), { code: 137, afterMs: 1_500 });
  for (const wrong of ["", "256", "-1", "1@", "1@10", "1@10s@", "boom"])
    t.equal(exitAnnotation.read(wrong), undefined, wrong);
  t.same(pullAnnotation.read("fail"), { fails: true, afterMs: undefined });
  t.same(pullAnnotation.read("fail@500ms"), { fails: true, afterMs: 500 });
  t.same(pullAnnotation.read("2m"), { fails: undefined, afterMs: 120_000 });
  t.same(pullAnnotation.read("ok"), { fails: false, afterMs: undefined });
  for (const wrong of ["", "slow", "@2s", "fail@", "2"])
    t.equal(pullAnnotation.read(wrong), undefined, wrong);
  t.equal(readyAnnotation.read("never"), Number.POSITIVE_INFINITY);
  t.equal(readyAnnotation.read("1h"), 3_600_000);
  t.same(listensAnnotation.read("80,8080"), [80, 8080]);
  t.equal(listensAnnotation.read("http"), undefined);
});

t.test("an annotation is for all containers of a pod, or for the one that it begins with", async (t) => {
  const metadata = {
    annotations: { "sandbox.refit.dev/exit": "1", "web.sandbox.refit.dev/exit": "2@1s" },
  };
  t.same(ofContainer(metadata, "web", exitAnnotation), { code: 2, afterMs: 1_000 });
  t.same(ofContainer(metadata, "log", exitAnnotation), { code: 1, afterMs: 0 });
  t.equal(ofContainer({}, "web", exitAnnotation), undefined);
  t.equal(ofObject({ annotations: { "sandbox.refit.dev/dead": "true" } }, deadAnnotation), true);
});

t.test("what is not understood is named, with what could be written instead", async (t) => {
  const errors = (given: Record<string, string>, on: "container" | "node" = "container") =>
    annotationErrors({ annotations: given }, on);
  t.same(errors({ "example.org/exit": "x", "web.sandbox.refit.dev/exit": "1", note: "y" }), []);
  t.match(errors({ "sandbox.refit.dev/exit": "10s" }), [/is "10s"; write CODE or CODE@DURATION/]);
  t.match(errors({ "web.sandbox.refit.dev/crash": "1" }), [/not known here; there are pull, exit, ready/]);
  t.match(errors({ "sandbox.refit.dev/dead": "true" }), [/not known here/], "a pod is no node");
  t.match(errors({ "sandbox.refit.dev/dead": "yes" }, "node"), [/write true or false/]);
  t.match(errors({ "sandbox.refit.dev/log": "x".repeat(257) }), [/longer than 256/]);
});

t.test("a text has a meaning or an error, never both", async () => {
  const onContainers = annotations.filter(({ on }) => on === "container");
  const text = fc.oneof(
    fc.string(),
    fc
      .tuple(
        fc.constantFrom("fail", "1", "never", ""),
        fc.constantFrom("", "@"),
        fc.constantFrom("5s", "5", ""),
      )
      .map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(fc.constantFrom(...onContainers), text, (annotation: Annotation<unknown>, value) => {
      const metadata = { annotations: { [`c.sandbox.refit.dev/${annotation.name}`]: value } };
      const meaning = ofContainer(metadata, "c", annotation);
      return (meaning === undefined) === annotationErrors(metadata, "container").length > 0;
    }),
    { seed, numRuns: 3_000 },
  );
});

t.test("the documentation lists each annotation", async (t) => {
  const file = new URL("../docs/sandbox.md", import.meta.url);
  const document = readFileSync(file, "utf8");
  const rows = annotations.map(({ name, on, value, help }) => `| \`${name}\` | ${on} | ${value} | ${help} |`);
  const table = ["| annotation | on | value | what happens |", "|---|---|---|---|", ...rows].join("\n");
  const fresh = document.replace(/\| annotation \| on .*?\n\n/s, `${table}\n\n`);
  if (process.env["UPDATE_GOLDEN"]) writeFileSync(file, fresh);
  t.equal(readFileSync(file, "utf8"), fresh, "UPDATE_GOLDEN=1 writes it");
});
