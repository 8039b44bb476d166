/** Runs the contract with the client on Deno, from a test on Node. */
import { execFile } from "node:child_process";
import { dirname } from "node:path";
import type { Test } from "tap";

export interface DenoContract {
  readonly socket: string;
  readonly image: string;
  readonly unknownImage: string;
  readonly logFolder?: string;
  readonly onTheHost?: boolean;
}

const root = new URL("../../", import.meta.url).pathname;

/** Every check of the contract must pass there as it does here. */
export async function criContractOnDeno(t: Test, given: DenoContract): Promise<void> {
  const socketFolder = dirname(given.socket);
  const flags = [
    "run",
    "--no-prompt",
    "--no-lock",
    "--node-modules-dir=manual",
    `--allow-read=${root},${socketFolder}`,
    `--allow-write=${socketFolder}`,
    "--allow-net",
    "--allow-env",
    // The log library of the sources asks for it; the bundle has no such part.
    "--allow-sys=hostname",
  ];
  const program = `${root}testkit/cri_contract/on_deno.ts`;
  const { code, output } = await new Promise<{ code: number; output: string }>((resolve) => {
    const words = [...flags, program, JSON.stringify(given)];
    execFile(
      `${root}node_modules/.bin/deno`,
      words,
      { cwd: root, timeout: 120_000 },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: `${stdout}${stderr}` }),
    );
  });
  const passed = Number(/^(\d+) passed, 0 failed$/m.exec(output)?.[1] ?? 0);
  t.equal(code, 0, output);
  t.ok(passed >= 30, `${passed} checks passed`);
}
