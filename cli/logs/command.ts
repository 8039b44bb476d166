/** Logs, by kubectl; of a workload that kubectl does not know, those of its pods. */
import { formatSelector, type LabelSelector } from "../../kube/core/index.ts";
import { type Flags, parseArguments } from "../arguments.ts";
import type { Call, ClusterAccess, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import type { AnyObject } from "../fields.ts";
import { globalFlags } from "../global_flags.ts";
import { commandHelp } from "../help.ts";
import { runKubectl } from "../objects/pass_through.ts";
import { objectName, type ResourceType } from "../resource_types.ts";
import { readTarget, type Target } from "../target.ts";
import { followedFlagNames, followOptions, isFollowing, mostStreams } from "./follow_flags.ts";
import { followLogs } from "./follow_logs.ts";

export const logs: Command = {
  name: "logs",
  summary: "Print logs of a pod or a workload (by kubectl).",
  usage: "POD|TYPE/NAME [-c CONTAINER] [-f] [...]",
  details: `All flags are those of "kubectl logs". For a CloneSet and the other workloads of apps.kruise.io each line has its pod and
container in front, and --max-log-requests is 50 unless it is given. With -f their pods that come later are followed, too, and
containers that restart; a stream that breaks is opened again where it was. It takes ${followedFlagNames} then, and ends
with Ctrl-C, or once the workload is deleted or the job is over.`,
  examples: ["refit logs clone/sample -f", "refit logs ads/agent --tail 20 --all-containers"],
  flags: {},
  raw: "kubectl",
  async run(call) {
    if (call.words.includes("--help") || call.words.includes("-h")) {
      call.io.stdout.write(await commandHelp(logs));
      return 0;
    }
    const own = await ownWorkload(call);
    if (own === undefined) return runKubectl(call, ["logs", ...call.words]);
    const { access, target, selector, before, after } = own;
    const words = [...before, ...after];
    if (isFollowing(words)) return followLogs(call, access, target, selector, followOptions(words));
    const most = words.some((word) => word.startsWith("--max-log-requests"))
      ? []
      : [`--max-log-requests=${mostStreams}`];
    return runKubectl(call, ["logs", ...before, "-l", selector, "--prefix", ...most, ...after]);
  },
};

/** A workload of ours, which kubectl does not know, and the words around its name. */
interface OwnWorkload {
  readonly access: ClusterAccess;
  readonly target: Target;
  /** Of its pods. */
  readonly selector: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** Undefined where the words name none. */
async function ownWorkload(call: Call): Promise<OwnWorkload | undefined> {
  const { words } = call;
  const at = words.findIndex((word) => /^[\w.-]+\/[\w.-]+$/.test(word));
  const [typeName = "", name = ""] = (words[at] ?? "").split("/");
  if (name === "") return undefined;
  const access = await call.clusterFor(ownFlags(words));
  const type = await access.types.lookUp(typeName);
  if (type?.group !== "apps.kruise.io") return undefined;
  const target = { type, ref: { namespace: access.namespace, name } };
  const selector = formatSelector(await selectorOf(type, await readTarget(access, target)));
  if (selector === "") throw new CliError(`${objectName(type, name)} has no pods that can be told by labels`);
  return { access, target, selector, before: words.slice(0, at), after: words.slice(at + 1) };
}

async function selectorOf(type: ResourceType, object: AnyObject): Promise<LabelSelector> {
  // Loaded when needed: it brings the schemas of all kinds.
  const { podSelectorOf } = await import("../why/causes/pod_sources.ts");
  return podSelectorOf(type, object);
}

/** Those of the words that say which cluster and namespace; the others are kubectl's alone. */
function ownFlags(words: readonly string[]): Flags {
  const own = words.flatMap((word, index) => {
    const [, long, short, value] = /^(?:--([\w-]+)|-([a-z]))(=.*)?$/s.exec(word) ?? [];
    const name = long ?? (short === "n" ? "namespace" : undefined);
    if (name === undefined || name === "verbose" || globalFlags[name] === undefined) return [];
    const takesNext = value === undefined && globalFlags[name].kind === "text";
    return takesNext ? [word, words[index + 1] ?? ""] : [word];
  });
  return parseArguments(own, globalFlags, "refit logs").flags;
}
