/**
 * Loaded into the process of every test: what a test starts runs as it ships. tap would load a module into each of these
 * programs, too, that reads the source maps of bundles (ten times as long to start, four times the memory) and hooks exits.
 */
import processOnSpawn from "process-on-spawn";

processOnSpawn.addListener((program) => {
  const { NODE_OPTIONS = "", ...environment } = program.env;
  const others = NODE_OPTIONS.split(" ").filter((option) => !option.includes("@tapjs/processinfo"));
  program.env = others.length === 0 ? environment : { ...environment, NODE_OPTIONS: others.join(" ") };
});
