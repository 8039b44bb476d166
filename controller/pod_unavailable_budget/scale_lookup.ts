/** Workloads of kinds that nobody here knows, through their scale subresource. Spec: protection A4, rules 1 and 3. */
import { isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import { type Client, isKubeError } from "../../kube/index.ts";
import { numberAt, objectAt, objectsAt, textAt } from "../json_fields.ts";

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

/** Undefined when there is no such object, or no such kind. Throws KubeError. */
export async function scaleOf(client: Client, reference: ScaleReference): Promise<Scale | undefined> {
  const { group, kind, namespace, name } = reference;
  const root = group === "" ? "/api/v1" : await preferredRoot(client, group);
  if (root === undefined) return undefined;
  const resources = await found(() => client.request("GET", root));
  const served = objectsAt(resources ?? {}, "resources");
  const plural = served.find((each) => each["kind"] === kind && !String(each["name"]).includes("/"))?.[
    "name"
  ];
  if (typeof plural !== "string") return undefined;
  const path = `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}`;
  const hasScale = served.some((each) => each["name"] === `${plural}/scale`);
  const object = await found(() => client.request("GET", hasScale ? `${path}/scale` : path));
  if (object === undefined) return undefined;
  return {
    uid: textAt(objectAt(object, "metadata"), "uid"),
    replicas: hasScale ? (numberAt(objectAt(object, "spec"), "replicas") ?? 0) : -1,
    selector: hasScale ? textAt(objectAt(object, "status"), "selector") : "",
  };
}

async function preferredRoot(client: Client, group: string): Promise<string | undefined> {
  const answer = await found(() => client.request("GET", `/apis/${encodeURIComponent(group)}`));
  const version = answer && textAt(objectAt(answer, "preferredVersion"), "groupVersion");
  return version ? `/apis/${version}` : undefined;
}

async function found(ask: () => Promise<unknown>): Promise<JsonObject | undefined> {
  try {
    const answer = await ask();
    return isJsonObject(answer) ? answer : undefined;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}
