#!/usr/bin/env node
// Runs on any Node: the check must come before a file with newer syntax is loaded.
var wanted = [22, 19];
var found = process.versions.node.split(".").map(Number);
if (found[0] < wanted[0] || (found[0] === wanted[0] && found[1] < wanted[1])) {
  process.stderr.write(
    `refit needs Node ${wanted.join(".")} or newer; this is Node ${process.versions.node}\n`,
  );
  process.exit(1);
} else {
  import("./main.ts")
    .then((cli) => cli.runProcess())
    .catch((error) => {
      process.stderr.write(`refit cannot start: ${error instanceof Error ? error.message : error}\n`);
      process.exitCode = 1;
    });
}
