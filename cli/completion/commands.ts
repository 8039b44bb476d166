/** `refit completion SHELL`, and what its scripts ask at each press of the tab key. */
import type { Command } from "../command.ts";
import { CliError } from "../errors.ts";
import type { CommandGroup } from "../help.ts";
import { completionScripts } from "./scripts.ts";

const shells = Object.keys(completionScripts);

export const completion: Command = {
  name: "completion",
  summary: "Print the completion of commands, flags and objects for a shell.",
  usage: shells.join("|"),
  arguments: { most: 1, choices: shells },
  details: `bash: source <(refit completion bash), in ~/.bashrc
zsh:  source <(refit completion zsh), in ~/.zshrc after compinit
fish: refit completion fish > ~/.config/fish/completions/refit.fish
kubectl: refit completion kubectl > kubectl_complete-refit, executable, on the PATH; then "kubectl refit" is completed`,
  examples: ["source <(refit completion bash)"],
  flags: {},
  async run(call) {
    const [shell = ""] = call.words;
    const script = Object.hasOwn(completionScripts, shell) ? completionScripts[shell] : undefined;
    if (script === undefined) throw new CliError(`name a shell: ${shells.join(", ")}`);
    call.io.stdout.write(script);
    return 0;
  },
};

/**
 * Completes the last of its words. Prints a candidate a line, with a tab and its help, and at last `:0` where file names would
 * fit, too, or `:4`: the protocol of cobra's programs, which kubectl speaks with its plugins.
 */
export function completeCommand(groups: readonly CommandGroup[]): Command {
  return {
    name: "__complete",
    summary: "Complete a command line, for shells.",
    usage: "WORD...",
    flags: {},
    raw: "own",
    rawHelp: true,
    async run(call) {
      const { complete } = await import("./complete.ts");
      const commands = groups.flatMap((group) => group.commands);
      return complete(call, commands);
    },
  };
}
