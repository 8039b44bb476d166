/** Asks one path whether a CRI runtime answers there. Never throws. */
import { methods } from "../../proto/cri/index.ts";
import type { CriClient, CriClientOptions } from "../cri/client.ts";
import { AgentError, isAgentError, messageOf } from "../errors.ts";
import type { Answer } from "./candidates.ts";
import type { Sockets } from "./sockets.ts";

/** A usable answer comes with its open client; the caller closes it. */
export interface Asked {
  readonly answer: Answer;
  readonly client?: CriClient;
}

/** CRI v1 as the agent needs it: Version and ImageFsInfo answer (spec agent 4.1, point 3). */
export async function askSocket(
  sockets: Pick<Sockets, "lookAt" | "connect">,
  path: string,
  options: CriClientOptions,
  signal: AbortSignal,
): Promise<Asked> {
  const found = await sockets.lookAt(path);
  if (found) return { answer: found };
  const client = sockets.connect(path, options);
  try {
    const version = await client.call(methods.Version, { version: "0.1.0" }, { signal });
    await client.call(methods.ImageFsInfo, {}, { signal });
    const { runtime_name: runtimeName, runtime_version: runtimeVersion } = version;
    if (runtimeName === "") throw new AgentError("Decode", "Version: the runtime does not say its name");
    const detail = `${runtimeName} ${runtimeVersion}`;
    return { answer: { path, outcome: "usable", detail, runtimeName, runtimeVersion }, client };
  } catch (error) {
    const old = isAgentError(error, "Unimplemented") ? await oldVersion(client, signal) : undefined;
    client.close();
    if (isAgentError(error, "Unimplemented")) {
      const detail = `CRI v1 is not served${old ? `, only v1alpha2 (${old})` : ""}: ${error.message}`;
      return { answer: { path, outcome: "no CRI v1", detail } };
    }
    return { answer: { path, outcome: "no answer", detail: `no answer: ${messageOf(error)}` } };
  }
}

/** Name and version of a runtime that speaks only the previous API, whose Version messages are the same. */
async function oldVersion(client: CriClient, signal: AbortSignal): Promise<string | undefined> {
  const previous = { ...methods.Version, path: "/runtime.v1alpha2.RuntimeService/Version" };
  try {
    const version = await client.call(previous, { version: "0.1.0" }, { signal });
    return `${version.runtime_name} ${version.runtime_version}`;
  } catch {
    return undefined;
  }
}
