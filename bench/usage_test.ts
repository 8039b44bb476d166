import { existsSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { nullLog } from "../kube/index.ts";
import { testClock } from "../testkit/kube/fake_clock.ts";
import { bench } from "./bench.ts";
import { commands } from "./commands.ts";
import { silentProgress } from "./progress.ts";
import { scenarios } from "./scenarios/all.ts";
import { scenarioOptions } from "./settings.ts";

async function command(...argv: readonly string[]) {
  const printed: string[] = [];
  const noted: string[] = [];
  const code = await bench(argv, {
    print: (line) => printed.push(line),
    note: (line) => noted.push(line),
    progress: silentProgress,
    clock: testClock(),
    log: nullLog,
    signal: new AbortController().signal,
    controller: "none",
  });
  return { code, printed: printed.join("\n"), noted: noted.join("\n") };
}

t.test("help lists every scenario, command and option", async (t) => {
  for (const line of [["--help"], ["help"], ["rollout", "--help"]]) {
    const { code, printed } = await command(...line);
    t.equal(code, 0);
    for (const { name, summary } of scenarios)
      t.ok(printed.includes(`  ${name} `) && printed.includes(summary));
    for (const name of Object.keys(scenarioOptions))
      t.match(printed, new RegExp(`^ {2}--${name} .*\\.$`, "m"));
    for (const [name, { summary }] of Object.entries(commands)) t.match(printed, `  ${name} `, summary);
  }
  t.match(await command(), { code: 2, printed: /^Usage: npm run bench/ });
});

t.test("each command describes its own options", async (t) => {
  for (const [name, { options, summary }] of Object.entries(commands)) {
    const { code, printed } = await command(name, "--help");
    t.equal(code, 0);
    t.match(printed, summary);
    for (const option of Object.keys(options)) t.match(printed, new RegExp(`^ {2}--${option} .*\\.$`, "m"));
  }
});

t.test("a place that cannot be written to is refused before anything runs", async (t) => {
  const folder = t.testdir({ "a.json": "" });
  for (const out of [join(folder, "none", "a.json"), folder, join(folder, "a.json", "b.json")]) {
    const { code, noted } = await command("rollout", "--pods", "10", "--out", out);
    t.equal(code, 2, out);
    t.match(noted, `bench: ${out} cannot be written: `);
  }
  t.match(await command("agent", "--out", folder), { code: 2, noted: /it is a folder/ });
  const page = join(folder, "a.html");
  t.match(await command("rollout", "--pods", "10", "--out", page), {
    code: 2,
    noted: /would hold JSON; name a/,
  });
  t.notOk(existsSync(join(folder, "none")));
});
