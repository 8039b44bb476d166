import { execFileSync } from "node:child_process";
import t from "tap";

t.test("what a test starts runs as it ships, without the test runner's modules", async (t) => {
  const script = 'console.log(process.env.NODE_OPTIONS ?? "")';
  t.notMatch(execFileSync(process.execPath, ["--eval", script], { encoding: "utf8" }), /tapjs/);
});
