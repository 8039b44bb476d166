/** Puts the project's definitions into a cluster, as an installation does. */
import { customResourceDefinition, kinds } from "../../crds/index.ts";
import { type Api, ApiError, type Item, isRecord } from "./api.ts";

/** Creates what is missing and waits until the API server serves every kind. */
export async function install(api: Api): Promise<void> {
  await create(api, { apiVersion: "v1", kind: "Namespace", metadata: { name: "kruise-system" } });
  await Promise.all(kinds.map((kind) => create(api, customResourceDefinition(kind))));
  const end = Date.now() + 30_000;
  while (!(await api.list("customresourcedefinitions")).every(isEstablished)) {
    if (Date.now() > end) throw new Error("the definitions were not established within 30 s");
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function create(api: Api, manifest: object): Promise<void> {
  try {
    await api.create(manifest);
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") throw error;
  }
}

function isEstablished(definition: Item): boolean {
  const conditions = definition.status?.conditions ?? [];
  return (
    isRecord(definition.status) &&
    conditions.some(({ type, status }) => type === "Established" && status === "True")
  );
}
