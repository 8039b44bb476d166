/** The page in a real browser, on items that a test makes up. */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Browser, chromium, type Page } from "playwright-core";
import type { Test } from "tap";
import { pageFilesInOne } from "../../bundles/page_script.ts";
import { smaller } from "../../bundles/smaller.mjs";
import { type Assets, assetsOf } from "../../cli/ui/http/assets.ts";
import { type PageServer, type PageServerOptions, startPageServer } from "../../cli/ui/http/server.ts";
import { clusterKey } from "../../cli/ui/shared/items.ts";
import { Feed } from "../../cli/ui/watching/feed.ts";
import { systemClock } from "../../kube/index.ts";

const program = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
/** Why tests with a browser are skipped, or false. */
export const browserMissing = program === undefined && "no Chromium is installed";
/**
 * Root has no sandbox. Without a graphics card, a process that stands in for one takes its part of the processor.
 */
const startFlags = ["--no-sandbox", "--disable-gpu"];
/** Of each page's address. */
const token = "token-of-the-test";

export interface PageOptions {
  readonly width?: number;
  readonly colorScheme?: "light" | "dark";
  /** What would happen; without it nothing. */
  readonly planning?: Planning;
}

export interface Served {
  readonly fleet: Feed;
  readonly one: Feed;
  readonly server: PageServer;
  readonly page: Page;
  /** What the browser complained about, the policy included. */
  readonly complaints: readonly string[];
  /** `hash`: `#/` and the key of a workload, or nothing for the list. */
  go(hash?: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * One browser a test file, and the page as it ships. From its sources it is some 50 modules, which a browser finds one after another:
 * on a busy machine that takes longer than anything that a test waits for.
 */
export class TestBrowser {
  #browser: Promise<Browser> | undefined;
  #assets: Promise<Assets> | undefined;
  readonly #isSmall: boolean;

  /** `isSmall`: the script goes over the wire as it ships. To make it takes some seconds. */
  constructor(isSmall = false) {
    this.#isSmall = isSmall;
  }

  async newPage(options: NonNullable<Parameters<Browser["newPage"]>[0]>): Promise<Page> {
    // A signal ends the test: left to the library it would end the browser, and the test would wait for that browser for ever.
    const signals = { handleSIGTERM: false, handleSIGINT: false, handleSIGHUP: false };
    this.#browser ??= chromium.launch({ executablePath: program ?? "", args: startFlags, ...signals });
    return (await this.#browser).newPage(options);
  }

  get assets(): Promise<Assets> {
    this.#assets ??= pageFilesInOne(this.#isSmall ? [smaller] : []).then(assetsOf);
    return this.#assets;
  }

  async close(): Promise<void> {
    await (await this.#browser)?.close();
  }
}

type Planning = NonNullable<PageServerOptions["planning"]>;

/** Finds nothing to do. */
export const idlePlanning: Planning = {
  plan: async () => ({ summary: "", revision: "", pods: [], steps: [], reasons: [], about: [], notices: [] }),
};

export async function servePage(
  assets: Assets,
  fleet: Feed,
  one: Feed,
  port = 0,
  planning = idlePlanning,
): Promise<PageServer> {
  const open = async (asked: string | undefined) => ({
    feed: asked === undefined ? fleet : one,
    close: () => undefined,
  });
  return startPageServer({ assets, token, port, open, planning });
}

export async function openPage(t: Test, browser: TestBrowser, options: PageOptions = {}): Promise<Served> {
  const served = await openServed(browser, options);
  t.teardown(() => served.close());
  return served;
}

/** What opens it closes it. */
export async function openServed(browser: TestBrowser, options: PageOptions = {}): Promise<Served> {
  const { width = 1280, colorScheme = "light", planning } = options;
  const [fleet, one] = [new Feed(systemClock), new Feed(systemClock)];
  for (const feed of [fleet, one]) feed.put(clusterKey, { is: "cluster", isComplete: true, problems: [] });
  const server = await servePage(await browser.assets, fleet, one, 0, planning);
  const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
  const complaints: string[] = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  const close = async (): Promise<void> => {
    await page.close();
    fleet.stop();
    one.stop();
    await server.stop();
  };
  const go = async (hash = ""): Promise<void> => {
    await page.goto(`http://127.0.0.1:${server.port}/?token=${token}${hash}`);
  };
  return { fleet, one, server, page, complaints, go, close };
}

/** The policy forbids what a browser's driver would wait with inside the page. Rejects after 30 seconds, as the driver does. */
export async function untilShown(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    if (await holds()) return;
    await sleep(50);
  }
  throw new Error(`the page never showed ${what}`);
}

export function gridSays(page: Page, words: string): Promise<void> {
  return untilShown(`a grid that says "${words}"`, async () => {
    const said = await page.locator(".columns .grid").getAttribute("aria-label");
    return said?.includes(words) === true;
  });
}

/** Keys and pointers find the cells that were painted last: none before the first frame. */
export function gridPainted(page: Page, grid = ".grid"): Promise<void> {
  return untilShown("the cells of a grid", async () => {
    const style = await page.locator(grid).first().getAttribute("style");
    return style?.includes("height") === true;
  });
}

/** Whether something makes the page wider than its window. */
export const isTooWide = (page: Page): Promise<unknown> =>
  page.evaluate("document.documentElement.scrollWidth > innerWidth");
