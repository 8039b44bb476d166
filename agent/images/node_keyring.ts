/** The keyring of a node: secrets of the API server, plugins, and Docker's own files. */
import { jsonResource, type KubeObject } from "../../kube/index.ts";
import type { AgentContext } from "../context.ts";
import { loadPlugins } from "./credential_plugins.ts";
import { dockerConfigFiles } from "./docker_config_files.ts";
import { component } from "./feature.ts";
import { Keyring, type Secret } from "./keyring.ts";

const secrets = jsonResource<KubeObject & Secret>({
  group: "",
  version: "v1",
  plural: "secrets",
  kind: "Secret",
  namespaced: true,
});

export async function nodeKeyring(
  { client, clock, settings, ...context }: Pick<AgentContext, "client" | "clock" | "log" | "settings">,
  home: string | undefined,
): Promise<Keyring> {
  const log = context.log.with({ component });
  const { pluginConfigFile: configFile, pluginBinaryFolder: binaryFolder } = settings;
  return new Keyring({
    clock,
    log,
    readSecret: (namespace, name, signal) => client.get(secrets, { namespace, name }, { signal }),
    plugins: await loadPlugins({ configFile, binaryFolder }, { clock, log }),
    files: dockerConfigFiles(home),
  });
}
