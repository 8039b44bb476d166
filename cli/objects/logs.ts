/** Logs, by kubectl; of a workload that kubectl does not know, those of its pods. */
import { formatSelector, type LabelSelector } from "../../kube/core/index.ts";
import { type Flags, parseArguments } from "../arguments.ts";
import type { Call, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import type { AnyObject } from "../fields.ts";
import { globalFlags } from "../global_flags.ts";
import { commandHelp } from "../help.ts";
import { objectName, type ResourceType } from "../resource_types.ts";
import { readTarget } from "../target.ts";
import { runKubectl } from "./pass_through.ts";

export const logs: Command = {
  name: "logs",
  summary: "Print logs of a pod or a workload (by kubectl).",
  usage: "POD|TYPE/NAME [-c CONTAINER] [-f] [...]",
  details: `All flags are those of "kubectl logs". For a CloneSet and the other workloads of apps.kruise.io each line has its pod and
container in front, and --max-log-requests is 50 unless it is given; a pod that comes later is not followed.`,
  examples: ["refit logs clone/sample -f", "refit logs ads/agent --tail 20 --all-containers"],
  flags: {},
  raw: "kubectl",
  async run(call) {
    if (call.words.includes("--help") || call.words.includes("-h")) {
      call.io.stdout.write(await commandHelp(logs));
      return 0;
    }
    return runKubectl(call, ["logs", ...(await withSelector(call, call.words))]);
  },
};

/** The words with a workload of ours named by its pods' labels; as they are for all else. */
async function withSelector(call: Call, words: readonly string[]): Promise<readonly string[]> {
  const at = words.findIndex((word) => /^[\w.-]+\/[\w.-]+$/.test(word));
  const [typeName = "", name = ""] = (words[at] ?? "").split("/");
  if (name === "") return words;
  const access = await call.clusterFor(ownFlags(words));
  const type = await access.types.lookUp(typeName);
  if (type?.group !== "apps.kruise.io") return words;
  const ref = { namespace: access.namespace, name };
  const object = await readTarget(access, { type, ref });
  const selector = formatSelector(await selectorOf(type, object));
  if (selector === "") throw new CliError(`${objectName(type, name)} has no pods that can be told by labels`);
  const most = words.some((word) => word.startsWith("--max-log-requests")) ? [] : ["--max-log-requests=50"];
  return [...words.slice(0, at), "-l", selector, "--prefix", ...most, ...words.slice(at + 1)];
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
