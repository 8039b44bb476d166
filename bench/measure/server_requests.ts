/** Requests as the API server counts them, all its clients together, when it serves its metrics. */
import { type Client, isKubeError } from "../../kube/index.ts";
import { parseMetrics, sumBy } from "./prometheus_text.ts";

const counter = "apiserver_request_total";
const wanted: ReadonlySet<string> = new Set([counter]);

/** Keys as `PATCH pods/status`; undefined when the server has no such metrics or keeps them from this user. */
export async function serverRequests(client: Client): Promise<Record<string, number> | undefined> {
  try {
    const text = await client.request("GET", "/metrics");
    if (typeof text !== "string") return undefined;
    const counts = countServerRequests(text);
    return Object.keys(counts).length === 0 ? undefined : counts;
  } catch (error) {
    if (isKubeError(error, "NotFound", "Forbidden", "Unauthorized", "MethodNotAllowed")) return undefined;
    throw error;
  }
}

export function countServerRequests(text: string): Record<string, number> {
  return sumBy(parseMetrics(text, wanted), counter, (labels) => {
    const subresource = labels["subresource"] ? `/${labels["subresource"]}` : "";
    return `${labels["verb"] ?? ""} ${labels["resource"] ?? ""}${subresource}`;
  });
}
