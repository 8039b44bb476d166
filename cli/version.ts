import { serverVersion } from "../kube/index.ts";
import { switchFlag } from "./arguments.ts";
import { type Command, noArguments } from "./command.ts";

/** As in package.json; a test compares them. */
export const refitVersion = "0.1.0";

export const version: Command = {
  name: "version",
  summary: "Print the versions of refit and of the server.",
  usage: "[--client]",
  arguments: noArguments,
  flags: { client: switchFlag("Print only the version of refit, and ask no server.") },
  async run(call) {
    call.print(`refit ${refitVersion}`);
    if (call.flags.on("client")) return 0;
    const { client } = await call.cluster();
    call.print(`server ${(await serverVersion(client)).gitVersion}`);
    return 0;
  },
};
