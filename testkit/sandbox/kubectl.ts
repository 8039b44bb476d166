/** The machine's own kubectl, on a sandbox: what its users see. */
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Why tests with kubectl are skipped; false when they are not. */
export const withoutKubectl: string | false =
  spawnSync("kubectl", ["version", "--client"]).status === 0 ? false : "there is no kubectl on the PATH";

/** Runs kubectl with a kubeconfig and a cache of its own, both removed at the end of the test. `input` goes to its stdin. */
export function kubectlFor(
  test: { teardown(clean: () => void): void },
  kubeconfig: string,
): (words: readonly string[], input?: object) => Promise<KubectlResult> {
  const folder = mkdtempSync(join(tmpdir(), "refit-kubectl-"));
  test.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "kubeconfig");
  writeFileSync(file, kubeconfig, { mode: 0o600 });
  return (words, input) =>
    new Promise((resolve) => {
      const options = ["--kubeconfig", file, "--cache-dir", folder];
      const child = execFile("kubectl", [...options, ...words], (error, stdout, stderr) => {
        const code = typeof error?.code === "number" ? error.code : error ? -1 : 0;
        resolve({ code, stdout, stderr });
      });
      child.stdin?.end(input === undefined ? "" : JSON.stringify(input));
    });
}
