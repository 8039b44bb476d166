/** Writes objects whatever they were before, and waits until definitions are served. */
import { type Client, isKubeError } from "../../kube/index.ts";
import type { ClusterAccess, Host } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, fieldsAt, listAt, textAt } from "../fields.ts";
import { objectName, objectResource, type ResourceType } from "../resource_types.ts";
import { fieldManager } from "../write.ts";

/** Types that a cluster has before anything is installed: no discovery is needed. */
const builtins: readonly [string, string, string, boolean][] = [
  ["v1", "Namespace", "namespaces", false],
  ["v1", "ServiceAccount", "serviceaccounts", true],
  ["v1", "Service", "services", true],
  ["v1", "Secret", "secrets", true],
  ["apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", false],
  ["rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false],
  ["rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", false],
  ["rbac.authorization.k8s.io/v1", "Role", "roles", true],
  ["rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", true],
  ["admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", false],
  [
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    false,
  ],
];

export function builtinType(object: Pick<AnyObject, "apiVersion" | "kind">): ResourceType {
  const found = builtins.find(
    ([apiVersion, kind]) => apiVersion === object.apiVersion && kind === object.kind,
  );
  if (found === undefined)
    throw new CliError(`${object.apiVersion} ${object.kind} is not part of an installation`);
  const [apiVersion, kind, plural, namespaced] = found;
  const [group = "", version = ""] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  return { group, version, plural, singular: kind.toLowerCase(), kind, shortNames: [], namespaced };
}

export function refOfObject(object: AnyObject): { namespace?: string; name: string } {
  const { namespace, name = "" } = object.metadata;
  return namespace === undefined ? { name } : { namespace, name };
}

/** Server-side apply; resolves to what happened, in kubectl's words. */
export async function applyObject(client: Client, type: ResourceType, object: AnyObject): Promise<string> {
  const resource = objectResource(type);
  const ref = refOfObject(object);
  const before = await client.get(resource, ref).catch(ignoreNotFound);
  const patch =
    before !== undefined && object.kind === "CustomResourceDefinition"
      ? ({ type: "merge", body: definitionPatch(object) } as const)
      : ({ type: "apply", body: object, fieldManager, force: true } as const);
  const after = await client.patch(resource, ref, patch, { fieldManager });
  const did =
    before === undefined
      ? "created"
      : before.metadata.resourceVersion === after.metadata.resourceVersion
        ? "unchanged"
        : "configured";
  return `${objectName(type, ref.name)} ${did}`;
}

/**
 * A definition that is there is changed by a merge: the running controller owns how conversion is reached, and
 * of `url` and `service` there may be only one, whichever it was before.
 */
function definitionPatch(object: AnyObject): object {
  const conversion = fieldsAt(object, "spec", "conversion");
  const webhook = fieldsAt(conversion, "webhook");
  const clientConfig = fieldsAt(webhook, "clientConfig");
  const whole = Object.keys(clientConfig).length > 0;
  const one = { ...webhook, clientConfig: { url: null, service: null, ...clientConfig } };
  return {
    metadata: { labels: object.metadata.labels ?? {} },
    spec: {
      ...fieldsAt(object, "spec"),
      conversion: whole ? { ...conversion, webhook: one } : { strategy: "None", webhook: null },
    },
  };
}

export function ignoreNotFound(error: unknown): undefined {
  if (isKubeError(error, "NotFound")) return undefined;
  throw error;
}

const establishedWithinMs = 30_000;

/** Waits until each definition is established and its versions answer. Throws CliError after 30 s. */
export async function waitEstablished(
  { client }: Pick<ClusterAccess, "client">,
  definitions: readonly AnyObject[],
  host: Pick<Host, "clock">,
  signal: AbortSignal,
): Promise<void> {
  const deadline = host.clock.monotonic() + establishedWithinMs;
  for (const definition of definitions) {
    for (;;) {
      const found = await client.get(objectResource(builtinType(definition)), refOfObject(definition));
      if (isEstablished(found)) break;
      if (host.clock.monotonic() >= deadline) throw new CliError(notEstablished(found));
      await host.clock.sleep(100, signal);
    }
  }
}

function conditionOf(object: AnyObject, type: string): unknown {
  return listAt(object, "status", "conditions").find((condition) => textAt(condition, "type") === type);
}

function isEstablished(definition: AnyObject): boolean {
  return textAt(conditionOf(definition, "Established"), "status") === "True";
}

function notEstablished(definition: AnyObject): string {
  const name = definition.metadata.name ?? "";
  const names = conditionOf(definition, "NamesAccepted");
  const why = textAt(names, "status") === "False" ? `: ${textAt(names, "message") ?? ""}` : "";
  return `customresourcedefinition.apiextensions.k8s.io/${name} was not established after ${establishedWithinMs / 1000} s${why}`;
}
