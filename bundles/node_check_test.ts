import { readFileSync } from "node:fs";
import t from "tap";
import { nodeCheck } from "./node_check.ts";

const file = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");

t.test("on an older Node the message says what is needed, and the process ends", async (t) => {
  const check = new Function("process", nodeCheck("the agent", ">=22.19"));
  const outcome = (node: string) => {
    const written: string[] = [];
    const codes: number[] = [];
    const stderr = { write: (text: string) => written.push(text) };
    check({ versions: { node }, stderr, exit: (code: number) => codes.push(code) });
    return { written, codes };
  };
  const refused = (node: string) => ({
    written: [`the agent needs Node 22.19 or newer; this is Node ${node}\n`],
    codes: [1],
  });
  for (const node of ["18.20.1", "20.20.2", "22.18.0"]) t.same(outcome(node), refused(node));
  for (const node of ["22.19.0", "23.0.0", "24.1.0"]) t.same(outcome(node), { written: [], codes: [] });
});

t.test("the command line asks for the Node of package.json", async (t) => {
  const { engines } = JSON.parse(file("../package.json"));
  const [, major, minor] = /wanted = \[(\d+), (\d+)\]/.exec(file("../cli/bin.js")) ?? [];
  t.equal(engines.node, `>=${major}.${minor}`);
});
