/** What must hold before anything is created: a server that is reached, new enough, and lets this user do it all. */
import { type Client, isJsonObject, isKubeError, serverVersion, serves } from "../kube/index.ts";
import { BenchError, messageOf } from "./errors.ts";
import { type WorkloadKind, workloadResources } from "./workloads.ts";

/** Readiness gates, Leases of nodes and CSIDriver-free pods are older; the API's definitions need v1 of extensions. */
const oldestMinor = 22;

interface Access {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
}

const core = (resource: string, verbs: string): Access[] => {
  const [plural = "", subresource] = resource.split("/");
  return verbs
    .split(" ")
    .map((verb) => ({ verb, group: "", resource: plural, ...(subresource ? { subresource } : {}) }));
};

const needed: readonly Access[] = [
  ...core("namespaces", "create list delete"),
  ...core("nodes", "create list patch delete"),
  ...core("nodes/status", "patch"),
  ...core("pods", "create list watch patch delete"),
  ...core("pods/status", "patch"),
  ...["create", "list", "patch", "delete"].map((verb) => ({
    verb,
    group: "coordination.k8s.io",
    resource: "leases",
  })),
];

/** The server's version, as `v1.34.4`. Throws BenchError with one line. */
export async function reachServer(client: Client): Promise<string> {
  const version = await serverVersion(client).catch((error: unknown) => {
    throw new BenchError(`the API server cannot be used: ${messageOf(error)}`);
  });
  const { major, minor, gitVersion } = version;
  if (major < 1 || (major === 1 && minor < oldestMinor))
    throw new BenchError(
      `the API server is Kubernetes ${gitVersion}; the bench needs 1.${oldestMinor} or newer`,
    );
  return gitVersion;
}

/** Throws BenchError that names every permission that is missing. */
export async function checkAccess(client: Client, kinds: readonly WorkloadKind[]): Promise<void> {
  const workloads = kinds.flatMap((kind): Access[] => {
    const { group, plural } = workloadResources[kind];
    return ["create", "patch", "delete"].map((verb) => ({ verb, group, resource: plural }));
  });
  const missing = new Map<string, string[]>();
  for (const access of [...needed, ...workloads]) {
    const allowed = await isAllowed(client, access);
    if (allowed === undefined) return;
    const { resource, subresource, verb } = access;
    const name = subresource === undefined ? resource : `${resource}/${subresource}`;
    if (!allowed) missing.set(name, [...(missing.get(name) ?? []), verb]);
  }
  if (missing.size === 0) return;
  const words = [...missing].map(([name, verbs]) => `${verbs.join(", ")} ${name}`);
  throw new BenchError(`this user may not ${words.join("; ")}; nothing was created`);
}

/** Undefined: the server does not answer such questions. */
async function isAllowed(client: Client, access: Access): Promise<boolean | undefined> {
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes: access },
  };
  try {
    const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    const answer = await client.request("POST", path, body);
    const status = isJsonObject(answer) ? answer["status"] : undefined;
    return isJsonObject(status) && status["allowed"] === true;
  } catch (error) {
    if (isKubeError(error, "NotFound", "MethodNotAllowed")) return undefined;
    throw error;
  }
}

/** Throws BenchError when a kind is not served: no manager is installed. */
export async function checkKinds(client: Client, kinds: readonly WorkloadKind[]): Promise<void> {
  for (const kind of kinds) {
    const { group, version, plural } = workloadResources[kind];
    if (!(await serves(client, workloadResources[kind])))
      throw new BenchError(
        `the API server does not serve ${plural} of ${group}/${version}: is the manager installed?`,
      );
  }
}
