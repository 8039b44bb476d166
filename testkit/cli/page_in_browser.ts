/** The page in Chromium, over feeds that a test fills. */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Browser, chromium, type Page } from "playwright-core";
import t, { type Test } from "tap";
import { pageAssets } from "../../cli/ui/assets.ts";
import { Feed } from "../../cli/ui/feed.ts";
import { startPageServer } from "../../cli/ui/server.ts";
import { clusterKey } from "../../cli/ui/shared/items.ts";
import { systemClock } from "../../kube/index.ts";

const program = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
/** For tests that need a browser. */
export const noBrowser = program === undefined && "no Chromium is installed";
const token = "token-of-the-test";

export interface ShownPage {
  readonly fleet: Feed;
  /** Of the one workload that can be opened. */
  readonly one: Feed;
  readonly page: Page;
  /** What the browser complained about, the policy included. */
  readonly complaints: readonly string[];
  /** `hash`: `#/` and the key of a workload, or nothing for the list. */
  go(hash?: string): Promise<void>;
}

let browser: Browser | undefined;
t.teardown(() => browser?.close());

export async function openPage(
  t: Test,
  { width = 1280, colorScheme = "light" }: { width?: number; colorScheme?: "light" | "dark" } = {},
): Promise<ShownPage> {
  browser ??= await chromium.launch({ executablePath: program ?? "", args: ["--no-sandbox"] });
  const [fleet, one] = [new Feed(systemClock), new Feed(systemClock)];
  for (const feed of [fleet, one]) feed.put(clusterKey, { is: "cluster", isComplete: true, problems: [] });
  const open = async (key: string | undefined) => ({
    feed: key === undefined ? fleet : one,
    close: () => undefined,
  });
  const server = await startPageServer({ assets: await pageAssets(), token, port: 0, open });
  const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
  const complaints: string[] = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  t.teardown(async () => {
    await page.close();
    fleet.stop();
    one.stop();
    await server.stop();
  });
  const go = async (hash = ""): Promise<void> => {
    await page.goto(`http://127.0.0.1:${server.port}/?token=${token}${hash}`);
  };
  return { fleet, one, page, complaints, go };
}

/** The policy forbids what a browser's driver would wait with inside the page. Rejects after 10 seconds. */
export async function untilShown(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (await holds()) return;
    await sleep(50);
  }
  throw new Error(`the page never showed ${what}`);
}

/** Whether something makes the page wider than its window. */
export const isTooWide = (page: Page): Promise<unknown> =>
  page.evaluate("document.documentElement.scrollWidth > innerWidth");
