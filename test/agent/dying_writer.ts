/**
 * Loaded before the agent (`--import`): ends the process by SIGKILL at its n-th step of writing files, as a crash would.
 * REFIT_DIES_AT is n, from 1. Steps are what a crash can come between: opening, half of the content, the whole content,
 * the flush, each rename.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import process from "node:process";

const diesAt = Number(process.env["REFIT_DIES_AT"]);
const { open, rename } = fs.promises;
let steps = 0;

function step(): void {
  steps += 1;
  if (steps === diesAt) process.kill(process.pid, "SIGKILL");
}

fs.promises.rename = async (from, to) => {
  step();
  await rename(from, to);
  step();
};

fs.promises.open = async (path, flags, mode) => {
  const file = await open(path, flags, mode);
  if (flags !== "w") return file;
  step();
  const { writeFile, sync } = file;
  file.writeFile = async (content) => {
    const text = String(content);
    if (steps + 1 === diesAt) await file.write(text.slice(0, text.length / 2));
    step();
    await writeFile.call(file, content);
    step();
  };
  file.sync = async () => {
    await sync.call(file);
    step();
  };
  return file;
};
syncBuiltinESMExports();
