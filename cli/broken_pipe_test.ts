import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import t from "tap";

t.test("a reader that goes away ends a command without a word, and not as if all were done", async (t) => {
  const program = join(import.meta.dirname, "bin.js");
  const child = spawn(process.execPath, [program, "manifests"], { stdio: ["ignore", "pipe", "pipe"] });
  const said: Buffer[] = [];
  child.stderr.on("data", (chunk: Buffer) => said.push(chunk));
  // Before the first word is written: then the write that fails is not a matter of luck.
  child.stdout.destroy();
  const [code] = await once(child, "close");
  t.equal(code, 141);
  t.equal(Buffer.concat(said).toString(), "");
});
