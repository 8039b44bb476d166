/**
 * Loaded into tap: the process of each test starts without what tap puts into it for coverage, which nobody asks for. That
 * module hooks every import and writes down at the exit what was imported, and source maps are read of code that has none:
 * together half a second of a processor for each file. Programs that a test starts would get the module, too; so they run
 * as they ship.
 */
import { ChildProcess } from "node:child_process";

const unwanted = ["@tapjs/processinfo", "--enable-source-maps", import.meta.url];
const isWanted = (option) => !unwanted.some((word) => option.includes(word));

function plain(pair) {
  const [, options] = /^NODE_OPTIONS=(.*)$/.exec(pair) ?? [];
  return options === undefined ? pair : `NODE_OPTIONS=${options.split(" ").filter(isWanted).join(" ")}`;
}

const { spawn } = ChildProcess.prototype;
ChildProcess.prototype.spawn = function spawnPlainly(options) {
  const args = options.args.filter(isWanted);
  return spawn.call(this, { ...options, args, envPairs: options.envPairs.map(plain) });
};
