import t from "tap";
import { sampleFile, samplePhase, sampleRun } from "../../testkit/bench/result_builder.ts";
import { BenchError } from "../errors.ts";
import { parseResult, violationsOf } from "./result.ts";

t.test("a result is read as it was written, and only as such", async (t) => {
  const file = sampleFile([sampleRun([samplePhase()])]);
  const text = JSON.stringify(file);
  t.same(parseResult(text, "a.json"), file);
  const refused: readonly [text: string, says: RegExp][] = [
    ["{", /a\.json is no JSON/],
    ["[]", /a\.json is no result of a bench/],
    [
      text.replace('"schemaVersion":2', '"schemaVersion":1'),
      /a\.json has schema version 1; this bench reads 2/,
    ],
    [
      text.replace('"tookMs":2000', '"tookMs":"2 s"'),
      /a\.json is not as a bench writes it: .*tookMs.* number/,
    ],
  ];
  for (const [wrong, says] of refused) t.throws(() => parseResult(wrong, "a.json"), says);
  t.throws(() => parseResult("{", "a.json"), BenchError);
});

t.test("violations of all phases are summed", async (t) => {
  const budget = {
    workloads: 1,
    mostUnavailable: 12,
    podSecondsOut: 1,
    violations: 2,
    examples: ["w had 12 pods unavailable"],
  };
  t.equal(violationsOf([sampleRun([samplePhase({ budget }), samplePhase()])]), 2);
});
