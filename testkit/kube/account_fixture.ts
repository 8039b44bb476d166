/**
 * Controllers and agents of suites run as their service accounts, with the rights of the installation and no others, so
 * that a right that is missing from it fails a test.
 */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { AnyObject } from "../../cli/fields.ts";
import { type InstallOptions, installObjects } from "../../cli/install/manifests.ts";
import { type Api, ApiError, connect, isRecord } from "../../test/cluster/api.ts";

const namespace = "kruise-system";
const options: InstallOptions = { namespace, webhookHost: "127.0.0.1", webhookPort: 9876 };

export type Account = "kruise-manager" | "kruise-daemon";

const isAccess = ({ kind = "" }: AnyObject): boolean =>
  /^(Namespace|ServiceAccount|(Cluster)?Role(Binding)?)$/.test(kind);

/** The accounts and roles that `refit manifests` prints, without the rest of the installation. */
export function installAccess(administratorFile: string): Promise<void> {
  return connected(administratorFile, async (api) => {
    for (const object of installObjects(options).filter(isAccess)) await create(api, object);
  });
}

async function connected<T>(administratorFile: string, run: (api: Api) => Promise<T>): Promise<T> {
  const api = connect(administratorFile);
  try {
    return await run(api);
  } finally {
    await api.close();
  }
}

/** Gates whose rights are granted on request only. */
const onRequest = [
  { gate: "DeletionProtectionForCRDCascadingGate=true", option: { guardsDefinitions: true } },
  { gate: "ResourceDistributionGate=true", option: { distributesResources: true } },
] as const;

/** Brings the rights that are granted on request to what a controller with these gates needs. */
export function grantForGates(administratorFile: string, gates: string): Promise<void> {
  return connected(administratorFile, (api) => grant(api, gates.split(",")));
}

async function grant(api: Api, gates: readonly string[]): Promise<void> {
  const usual = new Set(installObjects(options).map(nameOf));
  for (const { gate, option } of onRequest) {
    const objects = installObjects({ ...options, ...option }).filter((object) => !usual.has(nameOf(object)));
    for (const object of objects) {
      if (gates.includes(gate)) await create(api, object);
      else await remove(api, object);
    }
  }
}

const nameOf = ({ kind, metadata }: AnyObject): string =>
  `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;

async function create(api: Api, object: AnyObject): Promise<void> {
  try {
    await api.create(object, object.metadata.namespace);
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") throw error;
  }
}

async function remove(api: Api, { kind = "", apiVersion = "", metadata }: AnyObject): Promise<void> {
  const [group = "", version = ""] = apiVersion.split("/");
  const resource = `${kind.toLowerCase()}s.${version}.${group}`;
  try {
    await api.remove(resource, metadata.name ?? "", metadata.namespace);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
  }
}

/** Hears from a sandbox what it refused to the accounts: rights that the installation lacks. */
export class MissingRights {
  readonly #refusals = new Set<string>();

  /** For the options of the sandbox. */
  readonly log = (_message: string, { user, refusal }: Readonly<Record<string, unknown>> = {}): void => {
    const isOurs = typeof user === "string" && user.startsWith(`system:serviceaccount:${namespace}:`);
    if (isOurs && typeof refusal === "string") this.#refusals.add(refusal);
  };

  /** Throws when anything was refused. */
  check(): void {
    if (this.#refusals.size === 0) return;
    const list = [...this.#refusals].slice(0, 20).join("\n  ");
    throw new Error(`rights are missing from the installation (cli/install/access.ts):\n  ${list}`);
  }
}

/** A kubeconfig for the cluster of the administrator's one, as the account; the installation must be there. */
export async function accountKubeconfig(administratorFile: string, account: Account): Promise<string> {
  const token = await accountToken(administratorFile, account);
  const config: unknown = parse(readFileSync(administratorFile, "utf8"));
  const current = isRecord(config) ? config["current-context"] : undefined;
  const contexts = isRecord(config) && Array.isArray(config["contexts"]) ? config["contexts"] : [];
  const context: unknown = contexts.find((entry) => isRecord(entry) && entry["name"] === current);
  const place = isRecord(context) && isRecord(context["context"]) ? context["context"] : {};
  return JSON.stringify({
    ...(isRecord(config) ? config : {}),
    users: [{ name: account, user: { token } }],
    contexts: [{ name: current, context: { ...place, user: account } }],
  });
}

/** As the kubelet would ask for it. */
export function accountToken(administratorFile: string, account: Account): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const body = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 86_400 },
  };
  return connected(administratorFile, async (api) => {
    const answer = await api.request("POST", path, body);
    const status = isRecord(answer.body) ? answer.body["status"] : undefined;
    const token = isRecord(status) ? status["token"] : undefined;
    if (typeof token === "string") return token;
    throw new Error(`no token for ${account}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}`);
  });
}
