/** Makes objects again what they were when they were recorded. */
import { type Client, ignoreNotFound, type JsonPatchOperation } from "../../kube/index.ts";
import type { AnyObject } from "../fields.ts";
import { builtinType, refOfObject } from "../install/apply.ts";
import { objectName, objectResource } from "../resource_types.ts";
import { fieldManager, pointer } from "../write.ts";

const identity: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "status"]);

/** Resolves to what happened, in kubectl's words. */
export async function putBack(client: Client, recorded: AnyObject): Promise<string> {
  const type = builtinType(recorded);
  const ref = refOfObject(recorded);
  const name = objectName(type, ref.name);
  const live = await client.get(objectResource(type), ref).catch(ignoreNotFound);
  if (live === undefined) {
    await client.create(objectResource(type), ref.namespace, recorded, { fieldManager });
    return `${name} created`;
  }
  const body = operationsOf(live, recorded);
  await client.patch(objectResource(type), ref, { type: "json", body }, { fieldManager });
  return `${name} put back`;
}

/** All members but those that the server sets, of the version that was read. */
export function operationsOf(live: AnyObject, recorded: AnyObject): JsonPatchOperation[] {
  const { resourceVersion } = live.metadata;
  const members = Object.entries(recorded).filter(([name]) => !identity.has(name));
  const surplus = Object.keys(live).filter((name) => !identity.has(name) && !Object.hasOwn(recorded, name));
  return [
    ...(resourceVersion === undefined
      ? []
      : [{ op: "replace" as const, path: "/metadata/resourceVersion", value: resourceVersion }]),
    { op: "add", path: "/metadata/labels", value: recorded.metadata.labels ?? {} },
    { op: "add", path: "/metadata/annotations", value: recorded.metadata.annotations ?? {} },
    ...members.map(([name, value]) => ({ op: "add" as const, path: pointer([name]), value })),
    ...surplus.map((name) => ({ op: "remove" as const, path: pointer([name]) })),
  ];
}
