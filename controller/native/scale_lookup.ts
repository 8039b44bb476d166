/** Workloads of kinds that nobody here knows, through their scale subresource. Spec: protection A4, rules 1 and 3. */
import { isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import { isKubeError, type ReadingClient } from "../../kube/index.ts";
import { numberAt, objectAt, objectsAt, textAt } from "./json_fields.ts";

export interface Scale {
  uid: string;
  /** -1 for a kind without the subresource. */
  replicas: number;
  /** `status.selector`, as text; empty when there is none. */
  selector: string;
}

export interface ScaleReference {
  group: string;
  kind: string;
  namespace: string;
  name: string;
}

/** Where the API server has an object. */
export interface ServedPath {
  readonly path: string;
  /** Whether the kind has the scale subresource. */
  readonly hasScale: boolean;
}

/** Undefined when there is no such object, or no such kind. Throws KubeError. */
export async function scaleOf(client: ReadingClient, reference: ScaleReference): Promise<Scale | undefined> {
  const served = await servedPath(client, reference);
  return served && scaleAt(client, served);
}

/** Undefined when there is no such object. Throws KubeError. */
export async function scaleAt(
  client: ReadingClient,
  { path, hasScale }: ServedPath,
): Promise<Scale | undefined> {
  const object = await objectOf(client, hasScale ? `${path}/scale` : path);
  if (object === undefined) return undefined;
  return {
    uid: textAt(objectAt(object, "metadata"), "uid"),
    replicas: hasScale ? (numberAt(objectAt(object, "spec"), "replicas") ?? 0) : -1,
    selector: hasScale ? textAt(objectAt(object, "status"), "selector") : "",
  };
}

/** In the version of its group that the server prefers. Undefined when there is no such kind. Throws KubeError. */
export async function servedPath(
  client: ReadingClient,
  { group, kind, namespace, name }: ScaleReference,
): Promise<ServedPath | undefined> {
  const root = group === "" ? "/api/v1" : await preferredRoot(client, group);
  if (root === undefined) return undefined;
  const resources = await objectOf(client, root);
  const served = objectsAt(resources ?? {}, "resources");
  const plural = served.find((each) => each["kind"] === kind && !String(each["name"]).includes("/"))?.[
    "name"
  ];
  if (typeof plural !== "string") return undefined;
  const path = `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}`;
  return { path, hasScale: served.some((each) => each["name"] === `${plural}/scale`) };
}

async function preferredRoot(client: ReadingClient, group: string): Promise<string | undefined> {
  const answer = await objectOf(client, `/apis/${encodeURIComponent(group)}`);
  const version = answer && textAt(objectAt(answer, "preferredVersion"), "groupVersion");
  return version ? `/apis/${version}` : undefined;
}

/** What the API server has at a path; undefined for nothing. Throws KubeError. */
export async function objectOf(client: ReadingClient, path: string): Promise<JsonObject | undefined> {
  try {
    const answer = await client.request("GET", path);
    return isJsonObject(answer) ? answer : undefined;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}
