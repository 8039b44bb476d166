/** Workloads of kinds that nobody here knows, through their scale subresource. Spec: protection A4, rules 1 and 3. */
import { isJsonObject, type JsonObject, own } from "../../kube/core/index.ts";
import { type Client, isKubeError } from "../../kube/index.ts";

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
  const served = Array.isArray(resources?.["resources"]) ? resources["resources"].filter(isJsonObject) : [];
  const plural = served.find((each) => each["kind"] === kind && !String(each["name"]).includes("/"))?.[
    "name"
  ];
  if (typeof plural !== "string") return undefined;
  const path = `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}`;
  const hasScale = served.some((each) => each["name"] === `${plural}/scale`);
  const object = await found(() => client.request("GET", hasScale ? `${path}/scale` : path));
  if (object === undefined) return undefined;
  const metadata = member(object, "metadata");
  const replicas = own(member(object, "spec"), "replicas");
  const selector = own(member(object, "status"), "selector");
  return {
    uid: String(metadata["uid"] ?? ""),
    replicas: !hasScale ? -1 : typeof replicas === "number" ? replicas : 0,
    selector: hasScale && typeof selector === "string" ? selector : "",
  };
}

async function preferredRoot(client: Client, group: string): Promise<string | undefined> {
  const answer = await found(() => client.request("GET", `/apis/${encodeURIComponent(group)}`));
  const version = answer && own(member(answer, "preferredVersion"), "groupVersion");
  return typeof version === "string" ? `/apis/${version}` : undefined;
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

function member(object: JsonObject, key: string): JsonObject {
  const value = own(object, key);
  return isJsonObject(value) ? value : {};
}
