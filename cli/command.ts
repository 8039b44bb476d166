/** The shape of a command, and what it is given when it runs. */
import type { Client, Clock, ErrorSource, Fence, Log, Metrics, Random } from "../kube/index.ts";
import type { Flags, FlagTable } from "./arguments.ts";
import type { Io, Paint } from "./io.ts";
import type { ResourceTypes } from "./resource_types.ts";

export interface Command {
  /** Words that call it: `rollout status`. */
  readonly name: string;
  /** One line of the overview. */
  readonly summary: string;
  /** Arguments after the name, for the help. */
  readonly usage: string;
  /** What it takes beside flags. Absent: objects or types, which it counts itself. */
  readonly arguments?: Arguments;
  /** More help, in lines. */
  readonly details?: string;
  readonly examples?: readonly string[];
  /** Own flags; the global ones are added. A function where finding them out loads much of the program. */
  readonly flags: FlagTable | (() => Promise<FlagTable>);
  /** More help after the flags; a function because finding it out loads much of the program. */
  readonly appendix?: () => Promise<string>;
  /** What follows `--` is a command to run; otherwise it is further arguments. */
  readonly runsCommand?: true;
  /** The words are handed over unparsed: to kubectl, which completes them, too, or to a part of this program that reads them itself. */
  readonly raw?: "kubectl" | "own";
  /** `--help` is one of these words, too. */
  readonly rawHelp?: true;
  /** Resolves to the exit code. Throws CliError or KubeError for what the user should read. */
  run(call: Call): Promise<number>;
}

/** Arguments that name no objects of the cluster. */
export interface Arguments {
  /** More are refused. */
  readonly most: number;
  /** The words that may stand there, where they are few. */
  readonly choices?: readonly string[];
}

export const noArguments: Arguments = { most: 0 };

export interface Call {
  /** As it was typed, from `refit` on. */
  readonly commandLine: string;
  readonly flags: Flags;
  /** Arguments without flags. */
  readonly words: readonly string[];
  /** What follows `--`. */
  readonly rest: readonly string[] | undefined;
  readonly io: Io;
  readonly paint: Paint;
  readonly host: Host;
  /** Prints one line to standard output. */
  print(line?: string): void;
  /** Prints one line to standard error. */
  warn(line: string): void;
  /** Connects on first use. */
  cluster(): Promise<ClusterAccess>;
  /** As cluster(), by the global flags that a raw command parsed itself. */
  clusterFor(flags: Flags): Promise<ClusterAccess>;
  /** Runs another command line, without `refit`, as this one was run; resolves to its exit code. */
  runLine(argv: readonly string[], io: Io, host: Host): Promise<number>;
}

export interface ClusterAccess {
  readonly client: Client;
  /** Of the flag, else of the context, else `default`. */
  readonly namespace: string;
  readonly types: ResourceTypes;
}

/** Parts of the machine that tests replace. */
export interface Host {
  readonly clock: Clock;
  readonly random: Random;
  connect(request: ConnectRequest): Promise<Connection>;
  readFile(path: string): Promise<string>;
  readStdin(): Promise<string>;
  /** Runs a program on the user's terminal; undefined when it is not on the PATH. */
  runProgram(name: string, argv: readonly string[]): Promise<number | undefined>;
  /** Id of the process that started this one; another one, 1 as a rule, once that has ended. */
  parent(): number;
  /** Where errors show that nobody caught. */
  readonly process: ErrorSource;
}

export interface ConnectRequest {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  /** Milliseconds; 0 for no limit. */
  readonly timeoutMs: number | undefined;
  /** Undefined: the one whose credentials they are. */
  readonly impersonation?: Impersonation | undefined;
  /** The server's certificate is not checked. */
  readonly insecure?: boolean;
  /** Is given a line about each answered or broken request; absent: nobody asks. */
  readonly trace?: ((line: string) => void) | undefined;
  readonly userAgent: string;
  readonly env: Io["env"];
  readonly metrics?: Metrics;
  readonly log?: Log;
  readonly fence?: Fence;
}

/** Who the server takes the user for. */
export interface Impersonation {
  readonly user: string;
  readonly groups: readonly string[];
}

export interface Connection {
  readonly client: Client;
  /** Namespace of the context; empty when it names none. */
  readonly namespace: string;
}
