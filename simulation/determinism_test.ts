/** What is simulated takes time, turns and chance from those who made it. Whoever reaches past them makes stories that cannot be told again. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";

const root = join(import.meta.dirname, "..");
const rooms = "{kube,crds,node,controller,agent,sandbox,simulation}/**/*.ts";
const reaching =
  /\b(?:setImmediate|setTimeout|setInterval|queueMicrotask|randomUUID|randomBytes|getRandomValues)\b|\bDate\.now\b|\bperformance\.now\b|\bMath\.random\b|\bnew Date\(\)|\bnextTick\b/g;

/** Where the machine's own is meant, and how often. */
const meant: Readonly<Record<string, number>> = {
  // The clock of the machine.
  "kube/core/clock.ts": 4,
  // Keys and their serial numbers are nobody's to foretell.
  "controller/runtime/admission/certificates/generate.ts": 2,
  // Of sockets, which no story has.
  "controller/runtime/admission/server.ts": 1,
  // Certificates are compared with the time of day; a sandbox with a socket has the turns of the event loop.
  "sandbox/start.ts": 1,
  "sandbox/api_server.ts": 1,
  // Of the process and of sockets, which no story has.
  "agent/process.ts": 2,
  "agent/probes/run.ts": 1,
  // Lets promises go on, and says how long stories took.
  "simulation/virtual_clock.ts": 1,
  "simulation/main.ts": 7,
};

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
}

t.test("nothing that is simulated has a clock, a timer or chance of its own", async (t) => {
  const files = globSync(rooms, { cwd: root }).filter((file) => !/_(test|bench)\.ts$/.test(file));
  t.ok(files.length > 800, `${files.length} files`);
  const found: Record<string, number> = {};
  for (const file of files) {
    const count = [...withoutComments(readFileSync(join(root, file), "utf8")).matchAll(reaching)].length;
    if (count > 0) found[file] = count;
  }
  t.same(found, meant);
});
