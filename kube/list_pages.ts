/** Long lists in pages, so that neither the server nor this process holds a whole one as text. */
import type { Client, ListOptions, ListPage, Resource } from "./client_types.ts";

const pageSize = 500;

/** What is listed; which page is asked for follows from the answers. */
export type ListScope = Omit<ListOptions, "limit" | "continue">;

/** Page after page. Throws KubeError. */
export async function* listPages<T>(
  client: Pick<Client, "list">,
  resource: Resource<T>,
  scope: ListScope = {},
): AsyncGenerator<ListPage<T>> {
  let next = "";
  do {
    const page = await client.list(resource, {
      ...scope,
      limit: pageSize,
      ...(next === "" ? {} : { continue: next }),
    });
    yield page;
    next = page.continue;
  } while (next !== "");
}

/** What could be decoded of all pages. Throws KubeError. */
export async function listAll<T>(
  client: Pick<Client, "list">,
  resource: Resource<T>,
  scope: ListScope = {},
): Promise<T[]> {
  const items: T[] = [];
  for await (const page of listPages(client, resource, scope)) items.push(...page.items);
  return items;
}
