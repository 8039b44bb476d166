/** Puts the project's definitions into a cluster, as a user does. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { customResourceDefinition, kinds } from "../../crds/index.ts";
import { builtProgram } from "../built.ts";
import { type Api, ApiError, type Item } from "./api.ts";
import { Patience } from "./patience.ts";

const run = promisify(execFile);
const root = new URL("../../", import.meta.url).pathname;

/**
 * Runs `refit install` for a controller outside the cluster, then adds the definitions of kinds that are declared but
 * not carried out yet, and waits until the API server serves all.
 */
export async function install(api: Api, kubeconfig: string): Promise<void> {
  const words = ["install", "--kubeconfig", kubeconfig, "--webhook-host", "127.0.0.1"];
  await run(process.execPath, [builtProgram("refit"), ...words], { cwd: root, timeout: 120_000 });
  await Promise.all(kinds.map((kind) => create(api, customResourceDefinition(kind))));
  const patience = new Patience(30_000);
  while (!(await api.list("customresourcedefinitions")).every(isEstablished)) {
    if (patience.isOver) throw new Error(`the definitions were not established within ${patience}`);
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
  return conditions.some(({ type, status }) => type === "Established" && status === "True");
}
