/** The ConfigMap of lists that administrators keep: suites that share a cluster set keys of their own. */
import { ApiError } from "../cluster/api.ts";
import type { World } from "./world.ts";

const namespace = "kruise-system";
const name = "kruise-configuration";

/** null removes a key. */
export async function configure(
  { api }: World,
  data: Readonly<Record<string, string | null>>,
): Promise<void> {
  try {
    await api.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } }, namespace);
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") throw error;
  }
  await api.patch("configmaps", name, namespace, "merge", { data });
}
