/** The flags of `refit logs -f` for a workload whose pods are followed here; they are kubectl's. */
import { type Flags, type FlagTable, parseArguments, switchFlag, textFlag } from "../arguments.ts";
import { CliError } from "../errors.ts";
import { globalFlags } from "../global_flags.ts";
import type { LogQuery } from "./container_log.ts";
import type { FollowOptions } from "./followed_pods.ts";

/** Open at a time, unless --max-log-requests says otherwise. */
export const mostStreams = 50;

const followFlags: FlagTable = {
  follow: switchFlag("", { short: "f" }),
  container: textFlag("NAME", "", { short: "c" }),
  "all-containers": switchFlag(""),
  // As in kubectl for pods that a selector tells.
  tail: textFlag("N", "", { default: "10" }),
  since: textFlag("TIME", ""),
  "since-time": textFlag("TIME", ""),
  timestamps: switchFlag(""),
  prefix: switchFlag("", { default: "true" }),
  "max-log-requests": textFlag("N", "", { default: String(mostStreams) }),
};

export const followedFlagNames = Object.keys(followFlags)
  .map((name) => `--${name}`)
  .join(", ");

export function isFollowing(words: readonly string[]): boolean {
  return words.some((word) => /^(?:-f\w*|--follow(?:=(?:true|t|1))?)$/i.test(word));
}

/** `words`: without the workload. Throws CliError for what is not among the flags. */
export function followOptions(words: readonly string[]): FollowOptions {
  const { flags, words: others } = parseArguments(words, { ...globalFlags, ...followFlags }, "refit logs -f");
  if (others.length > 0) throw new CliError(`"refit logs -f" follows one workload; what is "${others[0]}"?`);
  const all = flags.on("all-containers");
  const name = flags.text("container");
  if (all && name !== undefined) throw new CliError("give either -c or --all-containers");
  return {
    containers: { name, all },
    beginning: beginningOf(flags),
    mostStreams: flags.integer("max-log-requests", 1) ?? mostStreams,
    hasPrefix: flags.on("prefix"),
    hasTimes: flags.on("timestamps"),
  };
}

function beginningOf(flags: Flags): LogQuery {
  const [since, sinceTime] = [flags.milliseconds("since"), flags.text("since-time")];
  if (since !== undefined && sinceTime !== undefined)
    throw new CliError("give either --since or --since-time");
  if (sinceTime !== undefined && Number.isNaN(Date.parse(sinceTime)))
    throw new CliError(
      `invalid value "${sinceTime}" for --since-time: must be a time such as 2026-01-02T15:04:05Z`,
    );
  // Minus one is all of it.
  const tail = flags.integer("tail", -1);
  return {
    sinceTime,
    sinceSeconds: since === undefined ? undefined : Math.max(1, Math.ceil(since / 1000)),
    tailLines: tail === -1 ? undefined : tail,
  };
}
