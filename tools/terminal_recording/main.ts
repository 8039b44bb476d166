/**
 * `node tools/terminal_recording/main.ts` writes docs/terminal.svg, the recording in the README: a cluster is started, broken,
 * explained and mended, by the commands that `npm start` prints. Needs the program `script` of util-linux.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Recorder } from "./recorder.ts";
import { recordingSvg } from "./svg.ts";

const root = join(import.meta.dirname, "../..");
const size = { columns: 100, rows: 25 };
const bin = `${process.execPath} ${join(root, "cli/bin.js")}`;

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "refit-recording-"));
  const env = { ...process.env, KUBECONFIG: join(folder, ".refit/kubeconfig") };
  const recorder = new Recorder(size, folder);
  const refit = (words: string) => recorder.run({ typed: `refit ${words}`, command: `${bin} ${words}` }, env);
  const up = await recorder.run({ typed: "refit up", command: `${bin} up --seed 7` }, env, /mend it/);
  try {
    await recorder.clear();
    await refit("set image clone/demo web=nginx:no-such-tag");
    await refit("rollout status clone/demo --timeout 6s");
    await refit("why clone/demo");
    await refit("rollout undo clone/demo");
    await refit("rollout status clone/demo");
  } finally {
    if (up.pid !== undefined) process.kill(-up.pid, "SIGINT");
    await once(up, "exit");
    rmSync(folder, { recursive: true, force: true });
  }
  const title = "A cluster is started, broken, explained and mended in a terminal";
  writeFileSync(join(root, "docs/terminal.svg"), recordingSvg(recorder.frames, size, title));
}

await main();
