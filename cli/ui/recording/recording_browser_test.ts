/** Recordings in a real browser: opened from disk, and served. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import t, { type Test } from "tap";
import { systemClock } from "../../../kube/index.ts";
import { browserMissing, gridSays, TestBrowser } from "../../../testkit/cli/page_fixture.ts";
import { hostileTexts, pod, workload } from "../../../testkit/cli/page_items_builder.ts";
import { startPageServer } from "../http/server.ts";
import type { Change } from "../shared/differences.ts";
import { answerKey, clusterKey, type Item } from "../shared/items.ts";
import type { RecordedLine } from "../shared/recorded.ts";
import { Feed } from "../watching/feed.ts";
import { assetsWithRecording } from "./recorded_assets.ts";
import { blockOf, recordingDocument } from "./recording_document.ts";

const skip = browserMissing;
const key = "clonesets.apps.kruise.io/default/web";
/** 12:00:00 in every zone that is whole hours off. */
const noon = Date.UTC(2026, 0, 2, 12);

const browser = new TestBrowser();
t.teardown(() => browser.close());

/** `seconds` after noon. */
function line(feed: string, seconds: number, put: Change<Item>["put"], isWhole?: true): RecordedLine {
  return { feed, change: { at: noon + seconds * 1_000, put, gone: [], ...(isWhole && { isWhole }) } };
}

/** One pod a second goes to the new revision: at 10, 11, 12 and 13 seconds. */
function rollout(): RecordedLine[][] {
  const numbers = [0, 1, 2, 3];
  const cluster: Item = { is: "cluster", isComplete: true, problems: [] };
  const hostile = hostileTexts.map((text, number): readonly [string, Item] => [
    `clonesets.apps.kruise.io/default/h${number}`,
    workload({ name: text, namespace: text, reason: text, reasonText: text, state: "stuck" }),
  ]);
  const answer: Item = {
    is: "answer",
    command: hostileTexts.join(" "),
    state: "waiting",
    message: hostileTexts.join(" "),
    reasons: [],
    next: [...hostileTexts],
    notices: [...hostileTexts],
    unread: "",
  };
  const first: RecordedLine[] = [
    line("", 0, [[clusterKey, cluster], [key, workload()], ...hostile], true),
    line(
      key,
      0,
      [[key, workload()], [answerKey, answer], ...numbers.map((each) => [`pod/${each}`, pod(each)] as const)],
      true,
    ),
  ];
  const steps = numbers.map((each) => [
    line(key, 10 + each, [[`pod/${each}`, pod(each, { revision: "new" })]]),
  ]);
  return [first, ...steps];
}

interface Opened {
  readonly page: Page;
  /** What the browser complained about, the policy included. */
  readonly complaints: readonly string[];
}

async function newPage(t: Test): Promise<Opened> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  t.teardown(() => page.close());
  const complaints: string[] = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => /^(data|file):/.test(request.url()) || complaints.push(request.url()));
  return { page, complaints };
}

async function writeRecording(t: Test, blocks: readonly (readonly RecordedLine[])[]): Promise<string> {
  const path = join(t.testdir(), "recording.html");
  writeFileSync(path, recordingDocument(await browser.assets, "nonce") + blocks.map(blockOf).join(""));
  return path;
}

const fileAddress = (path: string, hash = ""): string => `${pathToFileURL(path).href}${hash}`;

t.test("a file from disk shows the list and a workload, and no text of it is run", { skip }, async (t) => {
  const path = await writeRecording(t, [...rollout(), [{ end: "stopped" }]]);
  const { page, complaints } = await newPage(t);
  await page.goto(fileAddress(path));
  await page.waitForSelector(".list");
  await page.waitForSelector("text=Recorded on");
  t.equal(await page.locator(".list tbody tr").count(), hostileTexts.length + 1);
  t.equal(await page.locator(".ending").count(), 0, "it was stopped, which needs no words");
  await page.getByRole("link", { name: "web", exact: true }).click();
  await gridSays(page, "4 at the new");
  await page.waitForSelector("text=In a terminal");
  t.equal(await page.evaluate("window.attacked"), undefined);
  t.equal(await page.locator("#app script, #app img[src=x]").count(), 0);
  t.strictSame(complaints, [], "nothing was asked for that is not in the file");
});

t.test("it is played with the keyboard, faster, and from change to change", { skip }, async (t) => {
  const path = await writeRecording(t, [...rollout(), [{ end: "stopped" }]]);
  const { page, complaints } = await newPage(t);
  await page.goto(fileAddress(path, `#/${key}`));
  await gridSays(page, "4 at the new");
  await page.getByRole("button", { name: "First change" }).click();
  await gridSays(page, "1 at the new");
  await page.waitForSelector(
    `label:has-text("${new Date(noon + 10_000).toLocaleTimeString(undefined, { hour12: false })}")`,
  );
  await page.getByRole("button", { name: "Last change" }).click();
  await gridSays(page, "4 at the new");
  await page.locator("#time").focus();
  await page.keyboard.press("Home");
  await gridSays(page, "0 at the new");
  await page.getByLabel("Speed").selectOption("64");
  await page.getByRole("button", { name: "Play" }).focus();
  await page.keyboard.press("Enter");
  await gridSays(page, "4 at the new");
  await page.waitForSelector("label:has-text('End')");
  t.equal(await page.getByRole("button", { name: "Play" }).count(), 1, "it stops at the end");
  t.strictSame(complaints, []);
});

t.test("a file that was cut off shows all but the last moments, and says so", { skip }, async (t) => {
  const path = await writeRecording(t, rollout());
  const whole = readFileSync(path);
  writeFileSync(path, whole.subarray(0, whole.length - 40));
  const { page, complaints } = await newPage(t);
  await page.goto(fileAddress(path, `#/${key}`));
  await gridSays(page, "3 at the new");
  await page.waitForSelector("text=The recording was cut off");
  t.strictSame(complaints, []);
});

t.test("a workload that was not followed is said to be so", { skip }, async (t) => {
  const path = await writeRecording(t, [...rollout(), [{ end: "full" }]]);
  const { page } = await newPage(t);
  await page.goto(fileAddress(path, "#/clonesets.apps.kruise.io/default/h0"));
  await page.waitForSelector("text=Not recorded");
  await page.waitForSelector("text=its file had its largest size");
  await page.goto(fileAddress(path, "#/clonesets.apps.kruise.io/default/none"));
  await page.waitForSelector("text=Not here");
});

t.test("the server shows a file in its own page", { skip }, async (t) => {
  const path = await writeRecording(t, [...rollout(), [{ end: "stopped" }]]);
  const assets = await assetsWithRecording(await browser.assets, path);
  const server = await startPageServer({ assets, token: "token", port: 0, open: async () => undefined });
  t.teardown(() => server.stop());
  const { page, complaints } = await newPage(t);
  await page.goto(`http://127.0.0.1:${server.port}/?token=token#/${key}`);
  await gridSays(page, "4 at the new");
  await page.waitForSelector("text=Recorded on");
  const elsewhere = complaints.filter((each) => !each.startsWith(`http://127.0.0.1:${server.port}/`));
  t.strictSame(elsewhere, []);
});

t.test("what is seen live is played as well, and comes back to now", { skip }, async (t) => {
  const feed = new Feed(systemClock);
  feed.put(clusterKey, { is: "cluster", isComplete: true, problems: [] });
  feed.put(key, workload());
  for (let number = 0; number < 4; number++) feed.put(`pod/${number}`, pod(number));
  const open = async () => ({ feed, close: () => undefined });
  const server = await startPageServer({ assets: await browser.assets, token: "token", port: 0, open });
  t.teardown(async () => {
    feed.stop();
    await server.stop();
  });
  const { page } = await newPage(t);
  await page.goto(`http://127.0.0.1:${server.port}/?token=token#/${key}`);
  await page.waitForSelector(".time");
  feed.put("pod/0", pod(0, { revision: "new" }));
  await gridSays(page, "1 at the new");
  await page.getByLabel("Speed").selectOption("64");
  await page.getByRole("button", { name: "Play" }).click();
  await page.waitForSelector("label:has-text('Now')");
  await gridSays(page, "1 at the new");
});
