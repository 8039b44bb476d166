import t from "tap";
import { suiteLines, usageOf } from "./usage.ts";

t.test("help has a line an option, with its default, and a line a suite", async (t) => {
  const options = {
    nodes: { type: "string", default: "2", value: "N", help: "Nodes." },
    keep: { type: "boolean", default: false, help: "Stay up." },
  } as const;
  t.equal(
    usageOf("Runs.", "run [options]", options),
    "Runs.\n\nUsage: run [options]\n\nOptions:\n  --nodes N  Nodes. Default 2.\n  --keep     Stay up.",
  );
  const suites = ["b1", "01", "b1"].map((number) => ({ number, title: `title ${number}` }));
  t.equal(suiteLines(suites), "  01   title 01\n  b1   title b1");
});
