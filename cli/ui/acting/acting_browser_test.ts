/** The buttons and the dialog in a real browser: what is asked of the server, and what is shown of its answer. */
import type { Page } from "playwright-core";
import t, { type Test } from "tap";
import { systemClock } from "../../../kube/index.ts";
import { browserMissing, idlePlanning, TestBrowser, untilShown } from "../../../testkit/cli/page_fixture.ts";
import { pod, workload } from "../../../testkit/cli/page_items_builder.ts";
import { assetsForActing } from "../http/acting_assets.ts";
import { startPageServer } from "../http/server.ts";
import type { ActionAnswer } from "../shared/actions.ts";
import { clusterKey, type WorkloadItem } from "../shared/items.ts";
import { Feed } from "../watching/feed.ts";

const skip = browserMissing;
const token = "token-of-the-test";
const revisions = [
  { number: 3, text: "web:3" },
  { number: 2, text: "web:2 · because" },
  { number: 1, text: "web:1" },
];
const key = "clonesets.apps.kruise.io/default/web";

const browser = new TestBrowser();
t.teardown(() => browser.close());

interface Opened {
  readonly page: Page;
  /** What the server was asked to do. */
  readonly acted: unknown[];
  /** What the browser complained about. */
  readonly complaints: readonly string[];
}

/** `answer`: to every action; without it the server only reads. */
async function open(t: Test, item: WorkloadItem, answer?: () => Promise<ActionAnswer>): Promise<Opened> {
  const feed = new Feed(systemClock);
  feed.put(clusterKey, { is: "cluster", isComplete: true, problems: [] });
  feed.put(key, item);
  for (const number of [1, 2]) feed.put(`pod/default/web-${number}`, pod(number));
  const acted: unknown[] = [];
  const act = async (body: string): Promise<ActionAnswer> => {
    acted.push(JSON.parse(body));
    return (await answer?.()) ?? { code: 1, text: "" };
  };
  const assets = await browser.assets;
  const server = await startPageServer({
    assets: answer === undefined ? assets : assetsForActing(assets),
    token,
    port: 0,
    open: async () => ({ feed, close: () => undefined }),
    planning: idlePlanning,
    ...(answer === undefined ? {} : { acting: { act, revisions: async () => revisions } }),
  });
  const page = await browser.newPage({ viewport: { width: 390, height: 800 } });
  const complaints: string[] = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  t.teardown(async () => {
    await page.close();
    feed.stop();
    await server.stop();
  });
  await page.goto(`http://127.0.0.1:${server.port}/?token=${token}#/${key}`);
  await page.waitForSelector(".grid");
  return { page, acted, complaints };
}

const buttons = (page: Page) => page.locator(".actions button").allInnerTexts();
const focused = (page: Page) => page.evaluate("document.activeElement.id");
const commandIn = async (page: Page) => (await page.locator("dialog .command code").innerText()).trim();

t.test("a page that only reads has no buttons", { skip }, async (t) => {
  const { page } = await open(t, workload());
  t.strictSame(await buttons(page), []);
});

t.test("an action shows its command, asks, and shows the answer as it is", { skip }, async (t) => {
  const answered = Promise.withResolvers<ActionAnswer>();
  const { page, acted, complaints } = await open(t, workload(), () => answered.promise);
  t.strictSame(await buttons(page), [
    "Pause…",
    "Promote…",
    "Set partition…",
    "Undo…",
    "Scale…",
    "Restart containers…",
  ]);
  await page.getByText("Scale…").click();
  t.equal(await focused(page), "acting-close", "Enter does not act");
  await page.locator("dialog input[name=replicas]").fill("six");
  t.ok(await page.locator("dialog .act").isDisabled());
  await page.locator("dialog input[name=replicas]").fill("6");
  t.equal(await commandIn(page), "refit scale clonesets.apps.kruise.io/web -n default --replicas 6");
  await page.keyboard.press("Enter");
  t.strictSame(acted, [], "nor does Enter in a field");
  await page.locator("dialog .act").click();
  await page.waitForSelector("dialog [role=status] >> text=Asking the server");
  t.equal(await page.locator("dialog .act").count(), 0, "it is not asked twice");
  const text = `Error from server (Forbidden): <b>User "jane" cannot patch</b>\n`;
  answered.resolve({ code: 1, text });
  await page.waitForSelector("dialog .failed");
  t.equal(await page.locator("dialog .failed").textContent(), text);
  t.strictSame(acted, [{ action: "scale", workload: key, replicas: 6 }]);
  t.equal(await page.evaluate("document.documentElement.scrollWidth > innerWidth"), false);
  await page.keyboard.press("Escape");
  t.notOk(await page.locator("dialog").isVisible());
  t.strictSame(complaints, []);
});

t.test("with the keyboard alone: promote to the end, and leave another", { skip }, async (t) => {
  const paused = workload({ isPaused: true });
  const { page, acted, complaints } = await open(t, paused, async () => ({ code: 0, text: "promoted\n" }));
  t.equal((await buttons(page))[0], "Resume…");
  await page.getByText("Resume…").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  t.notOk(await page.locator("dialog").isVisible(), "two times Enter opens it and leaves it");
  await page.getByText("Promote…").focus();
  await page.keyboard.press("Enter");
  t.match(await commandIn(page), /--step 20%$/);
  await page.locator("dialog input[value=step]").focus();
  await page.keyboard.press("ArrowDown");
  t.match(await commandIn(page), /--to 20%$/);
  await page.keyboard.press("ArrowDown");
  t.equal(await commandIn(page), "refit rollout promote clonesets.apps.kruise.io/web -n default");
  await page.locator("dialog .act").focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog .answer >> text=promoted");
  t.equal(await focused(page), "acting-close");
  t.strictSame(acted, [{ action: "promote", workload: key, by: "to", amount: 0 }]);
  t.strictSame(complaints, []);
});

t.test("the partition is set from what it is, to more or to fewer", { skip }, async (t) => {
  const held = workload({ partition: 2 });
  const { page, acted, complaints } = await open(t, held, async () => ({
    code: 0,
    text: "partition 2 -> 3\n",
  }));
  await page.getByText("Set partition…").click();
  const field = page.locator("dialog input[name=amount]");
  t.equal(await field.inputValue(), "2");
  await field.fill("a lot");
  t.ok(await page.locator("dialog .act").isDisabled());
  await field.fill("75%");
  t.equal(await commandIn(page), "refit rollout partition clonesets.apps.kruise.io/web -n default --to 75%");
  await page.locator("dialog .act").click();
  await page.waitForSelector("dialog .answer >> text=partition 2 -> 3");
  t.strictSame(acted, [{ action: "partition", workload: key, amount: "75%" }]);
  t.strictSame(complaints, []);
});

t.test("containers of a chosen pod", { skip }, async (t) => {
  const { page, acted } = await open(t, workload(), async () => ({ code: 0, text: "created\n" }));
  await page.getByText("Restart containers…").click();
  await page.locator("dialog select").selectOption("default/web-2");
  await page.locator("dialog input[name=containers]").fill("web, log");
  t.match(await commandIn(page), /^refit create crr web-2-\w+ -n default --pod web-2 --containers web,log$/);
  await page.locator("dialog .act").click();
  await page.waitForSelector("dialog .answer");
  t.match(acted, [{ pod: "default/web-2", containers: ["web", "log"] }]);
});

t.test("a revision is chosen by what it holds", { skip }, async (t) => {
  const { page, acted } = await open(t, workload(), async () => ({ code: 0, text: "rolled back\n" }));
  await page.getByText("Undo…").click();
  t.match(await commandIn(page), /^refit rollout undo clonesets.apps.kruise.io\/web -n default$/);
  await page.locator("dialog option[value='1']").waitFor({ state: "attached" });
  t.strictSame(await page.locator("dialog option").allInnerTexts(), [
    "The one before the newest",
    "2: web:2 · because",
    "1: web:1",
  ]);
  await page.locator("dialog select").selectOption("1");
  t.match(await commandIn(page), /--to-revision 1$/);
  await page.locator("dialog .act").click();
  await page.waitForSelector("dialog .answer");
  t.strictSame(acted, [{ action: "undo", workload: key, revision: 1 }]);
});

t.test("what is past is not changed", { skip }, async (t) => {
  const { page } = await open(t, workload(), async () => ({ code: 0, text: "" }));
  await page.locator("#time").focus();
  await page.keyboard.press("Home");
  await page.waitForSelector("text=Back to now");
  await untilShown("no buttons", async () => (await buttons(page)).length === 0);
});
