/** What the API server says of itself. */
import type { ReadingClient, Resource } from "./client_types.ts";
import { isObject, listAt, stringAt } from "./codecs/json_values.ts";
import { isKubeError, KubeError } from "./errors.ts";

export interface ServerVersion {
  /** `v1.34.4` */
  readonly gitVersion: string;
  readonly major: number;
  readonly minor: number;
}

export async function serverVersion(client: ReadingClient): Promise<ServerVersion> {
  const answer = await client.request("GET", "/version");
  if (!isObject(answer)) throw new KubeError("Decode", "/version is not a JSON object");
  // Distributions append to the minor version: "34+".
  const number = (name: string): number => Number.parseInt(stringAt(answer, name), 10) || 0;
  return { gitVersion: stringAt(answer, "gitVersion"), major: number("major"), minor: number("minor") };
}

/** Plural names of the resources of a group and version; none when the server does not have it. */
export async function servedResources(
  client: ReadingClient,
  group: string,
  version: string,
): Promise<ReadonlySet<string>> {
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  try {
    const answer = await client.request("GET", path);
    return new Set(isObject(answer) ? listAt(answer, "resources").map((each) => stringAt(each, "name")) : []);
  } catch (error) {
    if (isKubeError(error, "NotFound")) return new Set();
    throw error;
  }
}

/** Whether the server has the resource in this version. */
export async function serves(
  client: ReadingClient,
  resource: Omit<Resource<unknown>, "codec">,
): Promise<boolean> {
  return (await servedResources(client, resource.group, resource.version)).has(resource.plural);
}
