/** Writes objects whatever they were before, and waits until definitions are served. */
import { pathOf } from "../../controller/index.ts";
import { isJsonObject, type ObjectRef } from "../../kube/core/index.ts";
import { type Client, ignoreNotFound, type Patch } from "../../kube/index.ts";
import type { ClusterAccess, Host } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at, conditionOf, fieldsAt, isFields, listAt, textAt } from "../fields.ts";
import { objectName, objectResource, type ResourceType } from "../resource_types.ts";
import { fieldManager } from "../write.ts";

/** Types that a cluster has before anything is installed: no discovery is needed. */
const builtins: readonly [string, string, string, boolean][] = [
  ["v1", "Namespace", "namespaces", false],
  ["v1", "ServiceAccount", "serviceaccounts", true],
  ["v1", "Service", "services", true],
  ["v1", "Secret", "secrets", true],
  ["v1", "ConfigMap", "configmaps", true],
  ["v1", "Pod", "pods", true],
  ["v1", "ResourceQuota", "resourcequotas", true],
  ["networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", true],
  ["policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", true],
  ["apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", false],
  ["apps/v1", "DaemonSet", "daemonsets", true],
  ["apps/v1", "Deployment", "deployments", true],
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

export function refOfObject({ metadata: { namespace, name = "" } }: AnyObject): ObjectRef {
  return { namespace, name };
}

/** Server-side apply; resolves to what happened, in kubectl's words. */
export async function applyObject(client: Client, type: ResourceType, object: AnyObject): Promise<string> {
  const resource = objectResource(type);
  const ref = refOfObject(object);
  const before = await client.get(resource, ref).catch(ignoreNotFound);
  const patch = before === undefined ? appliedWhole(object) : appliedOver(before, object);
  const after = await client.patch(resource, ref, patch, { fieldManager });
  const did =
    before === undefined
      ? "created"
      : before.metadata.resourceVersion === after.metadata.resourceVersion
        ? "unchanged"
        : "configured";
  return `${objectName(type, ref.name)} ${did}`;
}

const appliedWhole = (body: AnyObject): Patch => ({ type: "apply", body, fieldManager, force: true });

/** How webhooks and conversion are reached, and by which authority, is the running controller's: what it wrote stays. */
function appliedOver(live: AnyObject, object: AnyObject): Patch {
  if (object.kind === "CustomResourceDefinition")
    return { type: "merge", body: definitionOver(live, object) };
  if (Array.isArray(object["webhooks"])) return { type: "merge", body: webhooksOver(live, object) };
  return appliedWhole(object);
}

/**
 * A merge, which leaves no other entries: those of the program that was there before name paths that nobody answers any
 * more. Entries of these names with other paths are its, too; only the authority stays, which is in the Secret that both share.
 */
function webhooksOver(live: AnyObject, object: AnyObject): object {
  const present = listAt(live, "webhooks").filter(isJsonObject);
  const { labels = {}, annotations = {} } = object.metadata;
  const webhooks = listAt(object, "webhooks")
    .filter(isJsonObject)
    .map((webhook) => {
      const same = present.find(({ name }) => name === webhook["name"]);
      if (same !== undefined && pathOf(same) === pathOf(webhook))
        return { ...webhook, clientConfig: fieldsAt(same, "clientConfig") };
      const bundles = [same, ...present].map((found) => textAt(found, "clientConfig", "caBundle"));
      const caBundle = bundles.find((bundle) => bundle !== undefined);
      const authority = caBundle === undefined ? {} : { caBundle };
      return { ...webhook, clientConfig: { ...fieldsAt(webhook, "clientConfig"), ...authority } };
    });
  return { metadata: { labels, annotations }, webhooks };
}

/** A merge, since of `url` and `service` there may be only one, and without conversion neither. */
function definitionOver(live: AnyObject, object: AnyObject): object {
  const spec = fieldsAt(object, "spec");
  const labels = object.metadata.labels ?? {};
  if (textAt(spec, "conversion", "strategy") !== "Webhook") {
    return { metadata: { labels }, spec: { ...spec, conversion: { strategy: "None", webhook: null } } };
  }
  const webhook = fieldsAt(spec, "conversion", "webhook");
  const liveConfig = at(live, "spec", "conversion", "webhook", "clientConfig");
  const clientConfig = isFields(liveConfig) ? liveConfig : webhook["clientConfig"];
  return {
    metadata: { labels },
    spec: { ...spec, conversion: { strategy: "Webhook", webhook: { ...webhook, clientConfig } } },
  };
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

function isEstablished(definition: AnyObject): boolean {
  return textAt(conditionOf(definition, "Established"), "status") === "True";
}

function notEstablished(definition: AnyObject): string {
  const name = definition.metadata.name ?? "";
  const names = conditionOf(definition, "NamesAccepted");
  const why = textAt(names, "status") === "False" ? `: ${textAt(names, "message") ?? ""}` : "";
  return `customresourcedefinition.apiextensions.k8s.io/${name} was not established after ${establishedWithinMs / 1000} s${why}`;
}
