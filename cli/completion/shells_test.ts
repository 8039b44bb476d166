/** The scripts in real shells, with the program itself on the PATH. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import t from "tap";
import { completionScripts } from "./scripts.ts";

const program = join(import.meta.dirname, "..", "bin.js");
const folder = t.testdir({ scripts: completionScripts });
execFileSync(
  "sh",
  [
    "-c",
    `printf '#!/bin/sh\\nexec "%s" "%s" "$@"\\n' "$0" "$1" > refit; chmod +x refit`,
    process.execPath,
    program,
  ],
  {
    cwd: folder,
  },
);
const path = [folder, process.env["PATH"] ?? ""].join(delimiter);

function missing(shell: string): string | false {
  const isThere = path.split(delimiter).some((place) => existsSync(join(place, shell)));
  return isThere ? false : `${shell} is not on the PATH`;
}

/** Lines that the shell prints after it has sourced its script. */
function linesOf(shell: string, options: readonly string[], script: string, before = ""): string[] {
  const env = { PATH: path, HOME: folder, TERM: "dumb" };
  const text = `${before}\nsource ${join(folder, "scripts", shell)}\n${script}`;
  return execFileSync(shell, [...options, "-c", text], { env, encoding: "utf8" })
    .trimEnd()
    .split("\n");
}

t.test("bash", { skip: missing("bash") }, async (t) => {
  const completed = (line: string) =>
    linesOf(
      "bash",
      ["--norc"],
      `COMP_LINE=${JSON.stringify(line)}; COMP_POINT=\${#COMP_LINE}; _refit_complete refit; printf '%s\\n' "\${COMPREPLY[@]}"; complete -p refit`,
    );
  const registered = "complete -F _refit_complete refit";
  t.same(completed("refit rollout st"), ["status", registered]);
  t.same(completed("refit get --output=y"), ["yaml", registered], "what follows the sign alone");
  t.same(completed("refit completion "), ["bash", "zsh", "fish", "kubectl", registered]);
});

t.test("fish", { skip: missing("fish") }, async (t) => {
  const completed = (line: string) => linesOf("fish", ["--no-config"], `complete -C ${JSON.stringify(line)}`);
  t.match(completed("refit rollout st"), [/^status\tFollow a rollout/]);
  t.same(completed("refit completion "), ["bash", "fish", "kubectl", "zsh"], "in fish's own order");
});

t.test("zsh", { skip: missing("zsh") }, async (t) => {
  // Its completion system needs a terminal: what the script hands over to it is looked at instead.
  const system = `compdef() { :; }; _describe() { print -l -- \${(P)2} }; _files() { print files }`;
  const completed = (...words: string[]) => {
    const line = ["refit", ...words].map((word) => `"${word}"`).join(" ");
    return linesOf("zsh", ["-f"], `words=(${line}); CURRENT=\${#words}; _refit`, system);
  };
  t.match(completed("rollout", "st"), [/^status:Follow a rollout/]);
  t.same(completed("plan", "-f", ""), ["files"]);
});

t.test("sh, for kubectl", async (t) => {
  execFileSync("sh", ["-n", join(folder, "scripts", "kubectl")]);
  t.match(completionScripts["kubectl"], /^#!\/bin\/sh\nexec kubectl-refit __complete "\$@"\n$/);
});
