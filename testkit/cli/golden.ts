/** For tests: expected texts in testdata/; `UPDATE_GOLDEN=1` rewrites them. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const folder = join(import.meta.dirname, "../../cli/testdata");

/** The expected text, after writing it when an update is wanted. */
export function golden(name: string, found: string): string {
  const path = join(folder, name);
  if (process.env["UPDATE_GOLDEN"]) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, found);
  }
  return readFileSync(path, "utf8");
}
