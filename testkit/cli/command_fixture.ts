/** A command line run in process, on a host that has nothing unless the test gives it. */
import type { Host } from "../../cli/command.ts";
import { processHost } from "../../cli/host.ts";
import type { Io } from "../../cli/io.ts";
import { main } from "../../cli/main.ts";
import { type Client, KubeError, seededRandom } from "../../kube/index.ts";
import { testClock } from "../kube/fake_clock.ts";

export interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly client?: Client;
  readonly host?: Partial<Host>;
  readonly io?: Partial<Io>;
}

/** Runs a command line, its words separated by spaces, against a client. */
export async function run(commandLine: string | readonly string[], options: RunOptions = {}): Promise<Run> {
  const argv =
    typeof commandLine === "string" ? commandLine.split(" ").filter((word) => word !== "") : commandLine;
  const stdout: string[] = [];
  const stderr: string[] = [];
  const io: Io = {
    stdout: { write: (text: string) => stdout.push(text) },
    stderr: { write: (text: string) => stderr.push(text) },
    env: {},
    isTTY: false,
    columns: 100,
    rows: 40,
    signal: new AbortController().signal,
    ...options.io,
  };
  const code = await main(argv, io, { ...testHost(options.client), ...options.host });
  return { code, stdout: stdout.join(""), stderr: stderr.join("") };
}

/** The same, with the clock, the files and the connections of this machine. */
export function runHere(commandLine: string, io: Partial<Io> = {}): Promise<Run> {
  return run(commandLine, { host: processHost(), io });
}

function testHost(client: Client | undefined): Host {
  return {
    clock: testClock(),
    random: seededRandom(1),
    connect: async () => {
      if (client === undefined) throw new KubeError("Config", "no cluster in this test");
      return { client, namespace: "" };
    },
    readFile: (path) => Promise.reject(new Error(`no file ${path} in this test`)),
    readStdin: () => Promise.resolve(""),
    parent: () => 1,
    runProgram: () => Promise.resolve(undefined),
    process: { on: () => undefined, off: () => undefined, exit: () => undefined },
  };
}
