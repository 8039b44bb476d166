/** `refit ui` in this process, opened and followed as a page does. */
import { request } from "node:http";
import type { Test } from "tap";
import type { Host } from "../../cli/command.ts";
import { processHost } from "../../cli/host.ts";
import { applyChange } from "../../cli/ui/shared/differences.ts";
import type { Item } from "../../cli/ui/shared/items.ts";
import { Assembly, type Piece } from "../../cli/ui/shared/pieces.ts";
import { run } from "./command_fixture.ts";

// What a page gets and sends, for tests of other rooms.
export type { PodItem, WorkloadItem } from "../../cli/ui/shared/items.ts";
export type { NodeItem } from "../../cli/ui/shared/node_items.ts";
export { planPath } from "../../cli/ui/shared/plans.ts";

export interface Page {
  readonly address: string;
  readonly cookie: string;
  stop(): Promise<number>;
}

/** Resolves when the page can be opened. */
export async function startPage(words: string, host: Host = processHost()): Promise<Page> {
  const stopping = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const write = (text: string): void => {
    const [address] = /http:\/\/\S+/.exec(text) ?? [];
    if (address !== undefined) resolve(address);
  };
  const io = { stdout: { write }, signal: stopping.signal };
  const ended = run(`ui ${words}`, { host, io });
  ended.then(({ stderr }) => reject(new Error(stderr)));
  return openPage(await promise, async () => {
    stopping.abort();
    return (await ended).code;
  });
}

/** `address`: as it is printed, with its token. */
export async function openPage(address: string, stop: () => Promise<number>): Promise<Page> {
  const { origin, href } = new URL(address);
  const answer = await fetch(href, { redirect: "manual" });
  const [cookie = ""] = answer.headers.get("set-cookie")?.split(";") ?? [];
  return { address: origin, cookie, stop };
}

/** Sends what the page sends; the answer's text is that of JSON or of a refusal. */
export async function postTo({ address, cookie }: Page, path: string, body: object): Promise<Response> {
  const headers = { cookie, origin: address, "content-type": "application/json" };
  return fetch(`${address}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

export interface Followed {
  readonly state: Map<string, Item>;
  readonly text: string;
  /** Resolves when it holds; rejects after 30 seconds with what is there. */
  until(holds: () => boolean): Promise<void>;
}

/** Follows one stream as a page does, until `t` ends. */
export function follow(t: Pick<Test, "teardown">, { address, cookie }: Page, path: string): Followed {
  const state = new Map<string, Item>();
  const assembly = new Assembly<Item>();
  const waiting = new Set<() => void>();
  let received = "";
  let text = "";
  const sent = request(`${address}${path}`, { headers: { cookie } }, (response) => {
    response.setEncoding("utf8");
    response.on("error", () => undefined);
    response.on("data", (chunk: string) => {
      received += chunk;
      text += chunk;
      const events = received.split("\n\n");
      received = events.pop() ?? "";
      for (const event of events.filter((each) => each.startsWith("data: "))) {
        const piece: Piece<Item> = JSON.parse(event.slice("data: ".length));
        const change = assembly.take(piece);
        if (change === undefined) continue;
        applyChange(state, change);
        for (const look of waiting) look();
      }
    });
  });
  sent.on("error", () => undefined);
  sent.end();
  t.teardown(() => sent.destroy());
  return {
    state,
    get text() {
      return text;
    },
    until: (holds) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(JSON.stringify([...state]).slice(0, 4000))), 30_000);
        const look = (): void => {
          if (!holds()) return;
          clearTimeout(late);
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}
