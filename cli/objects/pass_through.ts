/** Commands that kubectl does as well as we could: it is called with the same words. */
import { parseArguments, switchFlag } from "../arguments.ts";
import type { Call, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { isFields, textAt } from "../fields.ts";
import { globalFlags } from "../global_flags.ts";
import { objectResource } from "../resource_types.ts";

const hotUpgradeAnnotation = "kruise.io/sidecarset-working-hotupgrade-container";

export const exec: Command = {
  name: "exec",
  summary: "Run a command in a container (by kubectl); -S finds the live sidecar of a hot upgrade.",
  usage: "POD|TYPE/NAME [-c CONTAINER] [-S SIDECAR] [-it] -- COMMAND",
  details:
    "-S NAME, --sidecar NAME: the container that serves for this sidecar of a SidecarSet at the moment.",
  examples: ["refit exec sample-4xk2p -it -- sh", "refit exec sample-4xk2p -S envoy -- envoy --version"],
  flags: {},
  raw: "kubectl",
  async run(call) {
    const { sidecar, words } = withoutSidecar(call.words);
    if (sidecar === undefined) return runKubectl(call, ["exec", ...words]);
    const container = await workingContainer(call, words, sidecar);
    call.warn(`Enter working container ${container} of SidecarSet.`);
    return runKubectl(call, ["exec", "-c", container, ...words]);
  },
};

const handedOver: Readonly<Record<string, string>> = {
  apply: "Apply manifests.",
  annotate: "Change annotations.",
  autoscale: "Scale by a HorizontalPodAutoscaler.",
  create: "Create an object.",
  delete: "Delete objects.",
  describe: "Describe objects.",
  diff: "Compare manifests with the live objects.",
  edit: "Edit an object.",
  label: "Change labels.",
  patch: "Patch an object.",
  replace: "Replace an object.",
  wait: "Wait for a condition.",
  kustomize: "Build a kustomization.",
  config: "Change the kubeconfig.",
  "api-resources": "List the served types.",
  "api-versions": "List the served versions.",
};

export const passThrough: readonly Command[] = Object.entries(handedOver).map(([name, summary]) =>
  kubectlCommand(name, summary),
);

function kubectlCommand(name: string, summary: string): Command {
  return {
    name,
    summary: `${summary.slice(0, -1)} (by kubectl).`,
    usage: "...",
    flags: {},
    raw: "kubectl",
    run: (call) => runKubectl(call, [name, ...call.words]),
  };
}

export async function runKubectl(call: Call, argv: readonly string[]): Promise<number> {
  const code = await call.host.runProgram("kubectl", argv);
  if (code === undefined) throw new CliError(`"refit ${argv[0]}" calls kubectl, which is not on the PATH`);
  return code;
}

/** Takes `-S NAME`, `--sidecar NAME` and `--sidecar=NAME` out of the words before `--`. */
function withoutSidecar(words: readonly string[]): { sidecar: string | undefined; words: string[] } {
  const kept: string[] = [];
  let sidecar: string | undefined;
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    if (word === "--") return { sidecar, words: [...kept, ...words.slice(index)] };
    if (word === "-S" || word === "--sidecar") sidecar = words[++index];
    else if (word.startsWith("--sidecar=")) sidecar = word.slice("--sidecar=".length);
    else kept.push(word);
  }
  return { sidecar, words: kept };
}

async function workingContainer(call: Call, words: readonly string[], sidecar: string): Promise<string> {
  const separator = words.indexOf("--");
  const own = separator < 0 ? words : words.slice(0, separator);
  const parsed = parseArguments(
    own,
    {
      ...globalFlags,
      stdin: switchFlag("", { short: "i" }),
      tty: switchFlag("", { short: "t" }),
    },
    "refit exec",
  );
  const [word = ""] = parsed.words;
  const name = word.startsWith("pod/") || word.startsWith("pods/") ? word.slice(word.indexOf("/") + 1) : word;
  if (name === "" || name.includes("/")) throw new CliError("-S needs the name of a pod");
  const { client, types, namespace } = await call.clusterFor(parsed.flags);
  const pod = await client.get(objectResource(await types.find("pods")), { namespace, name });
  const text = pod.metadata.annotations?.[hotUpgradeAnnotation];
  const working = text === undefined ? undefined : parseMap(text);
  const container = textAt(working, sidecar);
  if (container !== undefined) return container;
  throw new CliError(
    `pod ${name} has no hot upgrade sidecar ${sidecar} (annotation ${hotUpgradeAnnotation})`,
  );
}

function parseMap(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
