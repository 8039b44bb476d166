import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import t from "tap";
import { BenchError } from "../errors.ts";
import { busyShare } from "../measure/process_stats.ts";
import { hold } from "./cores.ts";

const missing = spawnSync("taskset", ["--version"]).status === 0 ? false : "taskset is not installed";

t.test("a process and what it starts run where they are held", { skip: missing }, async (t) => {
  const child = spawn("sh", ["-c", "read -r _; grep Cpus_allowed_list /proc/self/status"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(child, "spawn");
  const ended = once(child, "exit");
  const { pid = 0 } = child;
  hold(pid, "0");
  t.match(readFileSync(`/proc/${pid}/status`, "utf8"), /^Cpus_allowed_list:\t0$/m);
  child.stdin.end("go\n");
  const [text] = await once(child.stdout, "data");
  t.equal(String(text).trim(), "Cpus_allowed_list:\t0");
  await ended;
});

t.test("a core that is not there is refused with what the machine says", { skip: missing }, async (t) => {
  const refused = { name: BenchError.name, message: /cannot be held on core 1023: \S/ };
  t.throws(() => hold(process.pid, "1023"), refused);
});

t.test("how busy processors were between two looks", async (t) => {
  t.equal(busyShare({ idle: 100, total: 400 }, { idle: 150, total: 600 }), 0.75);
  t.equal(busyShare({ idle: 100, total: 400 }, { idle: 100, total: 400 }), 0, "no time went by");
});
