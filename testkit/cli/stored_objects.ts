/**
 * A cluster as OpenKruise v1.9 leaves it: objects of every kind, with pods, revisions, labels and annotations. Put there over
 * HTTP, so that a sandbox and a real API server hold the same.
 */
import { readFileSync } from "node:fs";
import { connect } from "../../bench/connection.ts";
import { type AnyObject, listAt, toAnyObject } from "../../cli/fields.ts";
import { refOfObject } from "../../cli/install/apply.ts";
import { objectResource, ResourceTypes } from "../../cli/resource_types.ts";
import { customResourceDefinition, kinds } from "../../crds/index.ts";
import { type Client, isKubeError, parseYaml, seededRandom, systemClock } from "../../kube/index.ts";
import type { StoredObject } from "../../sandbox/index.ts";

/** Kinds that v1.9 serves in the older version alone. Spec: platform 1.1. */
const olderOnly: ReadonlySet<string> = new Set([
  "CloneSet",
  "ContainerRecreateRequest",
  "UnitedDeployment",
  "WorkloadSpread",
  "ResourceDistribution",
  "PersistentPodState",
  "PodUnavailableBudget",
]);

/** As v1.9 installs them: some have no newer version, and need no conversion. */
export function formerDefinitions(): StoredObject[] {
  return kinds.map((kind) => {
    const definition = structuredClone(customResourceDefinition(kind));
    if (!olderOnly.has(kind.kind)) return { ...definition };
    const versions = definition.spec.versions.filter(({ name }) => name === "v1alpha1");
    return {
      ...definition,
      spec: {
        ...definition.spec,
        conversion: { strategy: "None" },
        versions: versions.map((version) => ({ ...version, storage: true })),
      },
    };
  });
}

const file = new URL("testdata/stored_objects.yaml", import.meta.url);

/** Workloads in the namespace `shop` with pods on `node1` and `node2`; owners before what they own. */
export async function storedObjects(): Promise<AnyObject[]> {
  return listAt(await parseYaml(readFileSync(file, "utf8")), "items").map(toAnyObject);
}

export function podsOf(objects: readonly AnyObject[]): AnyObject[] {
  return objects.filter(({ kind }) => kind === "Pod");
}

/** Creates them in this order. The former definitions must be established; namespaces may be there already. */
export async function putStoredObjects(kubeconfig: string, objects: readonly AnyObject[]): Promise<void> {
  const { client } = await connect({ clock: systemClock, random: seededRandom(1) }, kubeconfig);
  try {
    const types = new ResourceTypes(client);
    const uids = new Map<string, string>();
    for (const object of objects) {
      const { uid, ...metadata } = object.metadata;
      let text = JSON.stringify({ ...object, metadata });
      for (const [former, given] of uids) text = text.replaceAll(former, given);
      const created = await put(client, types, toAnyObject(JSON.parse(text)));
      if (uid !== undefined) uids.set(uid, created.metadata.uid ?? "");
    }
  } finally {
    await client.close();
  }
}

async function put(client: Client, types: ResourceTypes, object: AnyObject): Promise<AnyObject> {
  const { apiVersion = "", kind, status } = object;
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const type = (await types.list(group, version)).find((served) => served.kind === kind);
  if (type === undefined) throw new Error(`${apiVersion} ${kind} is not served`);
  const resource = objectResource(type);
  try {
    const created = await client.create(resource, object.metadata.namespace, object);
    if (status === undefined) return created;
  } catch (error) {
    if (kind === "Namespace" && isKubeError(error, "AlreadyExists")) return object;
    throw error;
  }
  // Statuses are not part of a creation: they are written after it.
  const patch = { type: kind === "Pod" ? "strategic" : "merge", body: { status } } as const;
  return client.patch(resource, refOfObject(object), patch, { subresource: "status" });
}
