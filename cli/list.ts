import type { Client } from "../kube/index.ts";
import type { AnyObject } from "./fields.ts";
import { objectResource, type ResourceType } from "./resource_types.ts";

/** Every page of a list. */
export async function listAll(
  client: Client,
  type: ResourceType,
  options: { namespace?: string; labelSelector?: string; fieldSelector?: string },
): Promise<AnyObject[]> {
  const items: AnyObject[] = [];
  let next = "";
  do {
    const page = await client.list(objectResource(type), {
      ...options,
      limit: 500,
      ...(next === "" ? {} : { continue: next }),
    });
    items.push(...page.items);
    next = page.continue;
  } while (next !== "");
  return items;
}
