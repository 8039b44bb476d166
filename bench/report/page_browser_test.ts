/** A result page in a real browser, opened from disk. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import t, { type Test } from "tap";
import { seededRandom } from "../../kube/index.ts";
import { sampleFile, samplePhase, sampleRun } from "../../testkit/bench/result_builder.ts";
import { violations } from "../../testkit/cli/accessibility.ts";
import { browserMissing, isTooWide, TestBrowser, untilShown } from "../../testkit/cli/page_fixture.ts";
import { compareRuns } from "../compare.ts";
import type { Run } from "../measure/result.ts";
import { resultPage } from "./page.ts";

const skip = browserMissing;
const browser = new TestBrowser();
t.teardown(() => browser.close());

const hostile = `</script><img src=x onerror="window.attacked=1">`;
const long = "a-name-without-any-end-".repeat(12);

function runs(): Run[] {
  const { series } = samplePhase();
  const phase = samplePhase({ series: { ...series, readyAtNew: [0, 30, 100] } });
  const words = { label: `${hostile} ${long}`, settings: { annotation: long } };
  return [sampleRun([phase], words), sampleRun([phase], { ...words, pods: 1_000 })];
}

interface Opened {
  readonly page: Page;
  /** What the browser complained about, and what it asked for beside the file. */
  readonly complaints: readonly string[];
}

async function open(t: Test, width = 1280, colorScheme: "light" | "dark" = "light"): Promise<Opened> {
  const path = join(t.testdir(), "result.html");
  const compared = compareRuns(runs(), runs(), seededRandom(1));
  writeFileSync(path, await resultPage([sampleFile(runs())], compared));
  const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
  t.teardown(() => page.close());
  const complaints: string[] = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => /^(data|file):/.test(request.url()) || complaints.push(request.url()));
  await page.goto(pathToFileURL(path).href);
  await page.waitForSelector("#plots-run-1-phase-0 .surface");
  return { page, complaints };
}

/** Labels and values beside a plot. */
const readings = (page: Page, plot: number): Promise<string[]> =>
  page.locator("#plots-run-0-phase-0 .plotted").nth(plot).locator(".readings li").allInnerTexts();

const says = (page: Page, plot: number, ...expected: readonly string[]): Promise<void> =>
  untilShown(expected.join(), async () => {
    const all = (await readings(page, plot)).map((text) => text.replaceAll(/\s+/g, " ").trim());
    return expected.every((each) => all.includes(each));
  });

t.test(
  "pointing at a plot tells the values of all plots of the phase, and shows its pods",
  { skip },
  async (t) => {
    const { page, complaints } = await open(t);
    const group = page.locator("#plots-run-0-phase-0");
    const surface = group.locator(".surface").first();
    const { width = 0 } = (await surface.boundingBox()) ?? {};
    await surface.hover({ position: { x: width * 0.6, y: 20 } });
    await says(page, 1, "ready, new revision 30 pods", "updating 10 pods", "ready, old revision 60 pods");
    await says(page, 2, "out of service 10 pods", "budget 10 pods");
    await says(page, 3, "memory 120 MB");
    const grid = group.locator(".grid");
    await untilShown("the pods of that time", async () =>
      /at 1\.2\d s/.test((await grid.getAttribute("aria-label")) ?? ""),
    );
    await page.mouse.move(0, 0);
    await says(page, 2, "out of service", "budget");
    t.strictSame(complaints, []);
  },
);

t.test(
  "keys move from sample to sample, a part that is drawn out is shown alone, and it plays",
  { skip },
  async (t) => {
    const { page, complaints } = await open(t);
    const group = page.locator("#plots-run-0-phase-0");
    const surface = group.locator(".surface").nth(1);
    await surface.focus();
    for (const key of ["ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
    await says(page, 2, "seconds since the change 1.00 s", "out of service 10 pods");
    t.match(
      await surface.getAttribute("aria-valuetext"),
      /^1\.00 s: out of service 10 pods, budget 10 pods$/,
    );
    await page.keyboard.press("Escape");
    await says(page, 2, "out of service");
    await surface.scrollIntoViewIfNeeded();
    const { x = 0, y = 0, width = 0 } = (await surface.boundingBox()) ?? {};
    await page.mouse.move(x + width * 0.5, y + 30);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.75, y + 30);
    await page.mouse.up();
    await untilShown("half of it", async () => Number(await surface.getAttribute("aria-valuemin")) > 0.9);
    t.match(await surface.getAttribute("aria-valuemax"), /^1\.[45]/);
    await group.getByText("Show all of it").first().click();
    await untilShown("all of it", async () => (await surface.getAttribute("aria-valuemax")) === "2");
    await group.getByRole("button", { name: "Play" }).click();
    await says(page, 1, "ready, new revision 100 pods");
    await group.getByRole("button", { name: "Play" }).waitFor();
    t.strictSame(complaints, []);
  },
);

for (const [width, scheme] of [
  [390, "light"],
  [1280, "dark"],
  [1280, "light"],
] as const)
  t.test(
    `${width} wide and ${scheme}: hostile and long names stay in their place, axe finds nothing`,
    { skip },
    async (t) => {
      const { page, complaints } = await open(t, width, scheme);
      t.equal(await isTooWide(page), false);
      t.equal(await page.evaluate("window.attacked"), undefined);
      t.match(await page.locator("h1").innerText(), /<\/script><img/);
      t.strictSame(complaints, []);
      t.strictSame(await violations(page), []);
    },
  );
