/** The picture of a plan in a real browser, and manifests that are typed, chosen and dropped. */
import type { Page } from "playwright-core";
import t, { type Test } from "tap";
import { violations } from "../../../testkit/cli/accessibility.ts";
import {
  browserMissing,
  gridPainted,
  isTooWide,
  openPage,
  type Served,
  TestBrowser,
  untilShown,
} from "../../../testkit/cli/page_fixture.ts";
import { hostileTexts, pod, workload } from "../../../testkit/cli/page_items_builder.ts";
import { planAnswer } from "../../../testkit/cli/plan_answers.ts";
import { answerKey } from "../shared/items.ts";
import {
  isPlanRequest,
  type PlanAnswer,
  type PlanChoices,
  type PlannedObject,
  type PlanRefusal,
  type PlanRequest,
} from "../shared/plans.ts";

type Answer = PlanAnswer | PlanChoices | PlanRefusal;

const skip = browserMissing;
const key = "clonesets.apps.kruise.io/default/web";
const browser = new TestBrowser();
t.teardown(() => browser.close());

interface Planned extends Served {
  /** What the page asked to be planned. */
  readonly asked: PlanRequest[];
}

/** `answer`: to each request. */
async function open(t: Test, answer: (request: PlanRequest) => Answer, width?: number): Promise<Planned> {
  const asked: PlanRequest[] = [];
  const plan = async (body: string): Promise<Answer> => {
    const request: unknown = JSON.parse(body);
    if (!isPlanRequest(request)) throw new Error(body);
    asked.push(request);
    return answer(request);
  };
  const served = await openPage(t, browser, {
    planning: { plan },
    ...(width === undefined ? {} : { width }),
  });
  const { fleet, one } = served;
  fleet.put(key, workload({ desired: 8 }));
  one.put(key, workload({ desired: 8 }));
  for (let number = 0; number < 8; number++)
    one.put(`pod/default/web-${number}`, pod(number, number === 0 ? { revision: "new" } : {}));
  await served.go(`#/${key}`);
  await served.page.waitForSelector(".plan .outcome b, .plan .refused", { timeout: 10_000 });
  return { ...served, asked };
}

async function legend(page: Page): Promise<string[]> {
  const entries = await page.locator(".plan .legend li").allInnerTexts();
  return entries.map((entry) => entry.replaceAll("\n", " "));
}

t.test("what would happen now: a picture, a list, numbers and reasons", { skip }, async (t) => {
  const { page, asked, complaints } = await open(t, () => planAnswer());
  t.strictSame(asked, [{ workload: key }]);
  t.match(await page.locator(".plan .outcome").innerText(), /^5 pods change, 7 requests. 8 of 9 pods/);
  t.strictSame(await legend(page), [
    "Changed in place 1",
    "New 2",
    "Deleted 1",
    "Marked only 1",
    "Waited for 1",
    "Not yet 1",
    "Held back 2",
    "As it is 1",
  ]);
  t.match(
    await page.locator(".plan .grid").getAttribute("aria-label"),
    /^10 pods in the plan: 1 changed in place, 2 new, 1 deleted/,
  );
  t.match(await page.locator(".plan .reasons").innerText(), /Partition.*promote.*InPlace/s);
  t.match(await page.locator(".plan .command code").last().innerText(), "refit plan clone/web -n default");
  await page.getByText("The plan as a table").click();
  await page.waitForSelector(".plan tbody tr");
  t.strictSame(await page.locator(".plan tbody tr").first().locator("td").allInnerTexts(), [
    "1",
    "web-1",
    "Changed in place update pod web-1 in place: web web:1 -> web:2 (2 requests)",
    "2",
  ]);
  t.equal(await page.locator(".plan tbody tr").count(), 9, "all but what stays as it is");
  t.strictSame(complaints, []);
});

t.test("with the arrow keys each pod tells what becomes of it", { skip }, async (t) => {
  const { page } = await open(t, () => planAnswer());
  await gridPainted(page, ".plan .grid");
  await page.locator(".plan .grid").focus();
  const told = (): Promise<string> => page.locator(".plan .told").innerText();
  await page.keyboard.press("ArrowRight");
  await untilShown("the first", async () => /web-1 Now, number 1 · update pod/.test(await told()));
  await page.keyboard.press("ArrowRight");
  await untilShown("the second", async () => /web-2 Now, number 2 · delete pod/.test(await told()));
});

t.test("it is asked again when the answer to why has changed", { skip }, async (t) => {
  const { page, one, asked } = await open(t, ({ manifest }) =>
    planAnswer(manifest === undefined && asked.length > 1 ? { pods: [], steps: [] } : {}),
  );
  one.put(answerKey, {
    is: "answer",
    command: "refit why clone/web -n default",
    state: "progressing",
    message: "on its way",
    reasons: [],
    next: [],
    notices: [],
    unread: "",
  });
  await page.waitForSelector("text=Nothing is to be done now.");
  t.equal(asked.length, 2);
});

t.test("a manifest that is typed, with the keyboard alone", { skip }, async (t) => {
  const { page, asked, complaints } = await open(t, () => planAnswer(), 390);
  await page.getByText("With a manifest").focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector("#manifest");
  await page.keyboard.press("Tab");
  await page.keyboard.insertText("kind: CloneSet\n");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".plan .outcome b");
  t.strictSame(asked.at(-1), { workload: key, manifest: "kind: CloneSet\n" });
  t.match(await page.locator(".plan h2").innerText(), "If the manifest were applied");
  t.match(await page.locator(".plan .command code").last().innerText(), "refit plan -f FILE -n default");
  t.equal(await page.locator(".plan .reasons .command").count(), 0, "nothing is to be ended yet");
  t.notOk(await isTooWide(page));
  await page.getByText("As it is", { exact: true }).first().click();
  await page.waitForSelector("text=What would happen now");
  t.strictSame(complaints, []);
});

t.test("a file that is chosen", { skip }, async (t) => {
  const { page, asked } = await open(t, () => planAnswer());
  await page.getByText("With a manifest").click();
  const file = { name: "web.yaml", mimeType: "application/yaml", buffer: Buffer.from("kind: X\n") };
  await page.locator(".plan input[type=file]").setInputFiles(file);
  await page.waitForSelector("text=If web.yaml were applied");
  await page.waitForSelector(".plan .outcome b");
  t.strictSame(asked.at(-1), { workload: key, manifest: "kind: X\n" });
  t.match(await page.locator(".plan .command code").last().innerText(), "refit plan -f web.yaml -n default");
  t.equal(await page.locator("#manifest").inputValue(), "kind: X\n", "it can be changed");
});

/** Holds a file over the page. */
function hover(page: Page): Promise<unknown> {
  return page.evaluate(`{
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["a"], "a.yaml"));
    document.body.dispatchEvent(new DragEvent("dragover", { dataTransfer, bubbles: true, cancelable: true }));
  }`);
}

/** Drops files of these names and texts onto the page, as a browser does. */
function drop(page: Page, files: readonly (readonly [name: string, text: string])[]): Promise<unknown> {
  return page.evaluate(`{
    const dataTransfer = new DataTransfer();
    for (const [name, text] of ${JSON.stringify(files)}) dataTransfer.items.add(new File([text], name));
    const at = { dataTransfer, bubbles: true, cancelable: true };
    const isTaken = !document.body.dispatchEvent(new DragEvent("dragover", at));
    if (isTaken) document.body.dispatchEvent(new DragEvent("drop", at));
  }`);
}

t.test("a file that is dropped, and files that cannot be planned", { skip }, async (t) => {
  const { page, asked } = await open(t, () => planAnswer());
  await drop(page, [["web.yaml", "kind: Y\n"]]);
  await page.waitForSelector("text=If web.yaml were applied");
  await page.waitForSelector(".plan .outcome b");
  t.strictSame(asked.at(-1), { workload: key, manifest: "kind: Y\n" });
  t.equal(await page.locator(".drop-here").count(), 0);
  const before = asked.length;
  const two = [
    ["a.yaml", "a"],
    ["b.yaml", "b"],
  ] as const;
  await drop(page, two);
  await page.waitForSelector("text=These are 2 files: one is planned at a time.");
  await drop(page, [["large.yaml", "x".repeat(1_048_577)]]);
  await page.waitForSelector(
    "text=This file cannot be planned: it must be a file, no folder, of at most 1 MB.",
  );
  t.equal(asked.length, before, "none of them is sent");
});

const named = (over: Partial<PlannedObject> = {}): PlannedObject => ({
  key,
  words: "CloneSet web in default",
  namespace: "default",
  isStored: true,
  isListed: true,
  ...over,
});

const fresh = named({
  key: "clonesets.apps.kruise.io/shop/cart",
  words: "CloneSet cart in shop",
  namespace: "shop",
  isStored: false,
  isListed: false,
});

async function onList(page: Page): Promise<void> {
  await page.getByText("All workloads").click();
  await page.waitForSelector("#search");
}

t.test(
  "a file that is dropped onto the list opens the plan in the view of its workload",
  { skip },
  async (t) => {
    const { page, asked, complaints } = await open(t, ({ manifest }) =>
      planAnswer(manifest === undefined ? {} : { of: named() }),
    );
    await onList(page);
    await hover(page);
    await page.waitForSelector(".drop-here");
    await drop(page, [["web.yaml", "kind: Y\n"]]);
    await page.waitForSelector("text=If web.yaml were applied");
    await page.waitForSelector(".plan .outcome b");
    t.strictSame(
      asked.filter(({ manifest }) => manifest !== undefined),
      [{ manifest: "kind: Y\n" }],
    );
    await untilShown("the view of the workload", async () => page.url().endsWith(`#/${key}`));
    await page.waitForSelector(".plan .grid");
    t.equal(await page.locator("#manifest").inputValue(), "kind: Y\n", "it can be changed");
    await untilShown("the plan in sight", async () => isInSight(page));
    t.equal(await page.evaluate("document.activeElement.id"), "plan-title");
    t.equal(await page.locator(".drop-here").count(), 0);
    t.strictSame(complaints, []);
  },
);

const isInSight = async (page: Page): Promise<boolean> =>
  (await page.evaluate(`{
    const { top } = document.getElementById("plan-title").getBoundingClientRect();
    top >= 0 && top < innerHeight;
  }`)) === true;

t.test("a manifest of a workload that is not there yet shows what would be created", { skip }, async (t) => {
  const { page, complaints } = await open(
    t,
    ({ manifest }) => planAnswer(manifest === undefined ? {} : { of: fresh, about: [], reasons: [] }),
    390,
  );
  await drop(page, [["cart.yaml", "kind: Y\n"]]);
  await page.waitForSelector("text=CloneSet cart in shop is not there yet: it would be created");
  t.ok(page.url().endsWith("#/plan"));
  t.match(await page.locator("#plan-title").innerText(), "If cart.yaml were applied");
  t.match(await page.locator(".plan .grid").getAttribute("aria-label"), /^5 pods in the plan: .*2 new/);
  t.match(await page.locator(".plan .command code").last().innerText(), "refit plan -f cart.yaml -n shop");
  t.notOk(await isTooWide(page));
  t.strictSame(await violations(page), []);
  await onList(page);
  await page.getByText("Plan a manifest…").click();
  await page.waitForSelector("text=If cart.yaml were applied");
  t.strictSame(complaints, []);
});

t.test(
  "from the list with the keyboard alone, and what is no manifest can be mended",
  { skip },
  async (t) => {
    const refusal = "the manifest, document 1: not an object with apiVersion, kind and metadata.name";
    const { page, asked } = await open(t, ({ manifest }) => {
      if (manifest === undefined) return planAnswer();
      return manifest === "words" ? { refusal } : planAnswer({ of: named() });
    });
    await onList(page);
    await page.getByText("Plan a manifest…").focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector("#manifest");
    await page.locator("#manifest").focus();
    await page.keyboard.insertText("words");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForSelector(`.refused:text("${refusal}")`);
    t.strictSame(asked.at(-1), { manifest: "words" });
    await page.locator("#manifest").fill("kind: Y\n");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await untilShown("the view of the workload", async () => page.url().endsWith(`#/${key}`));
    await page.waitForSelector("text=If the manifest were applied");
  },
);

t.test("of several objects one is chosen", { skip }, async (t) => {
  const { page, asked } = await open(t, ({ manifest, at }) => {
    if (manifest === undefined) return planAnswer();
    if (at === undefined)
      return {
        choices: [
          [0, "CloneSet web"],
          [2, "CloneSet cart in shop"],
        ],
      };
    return planAnswer({ of: at === 0 ? named() : fresh });
  });
  await drop(page, [["all.yaml", "kind: Y\n"]]);
  await page.waitForSelector("text=The manifest holds 2 objects that can be planned. Choose one:");
  await page.getByRole("button", { name: "CloneSet cart in shop" }).click();
  await page.waitForSelector("text=is not there yet");
  t.strictSame(asked.at(-1), { workload: key, manifest: "kind: Y\n", at: 2 });
  t.equal(await page.locator("#manifest").inputValue(), "kind: Y\n");
});

t.test("hostile texts are shown and nothing else", { skip }, async (t) => {
  const hostile = hostileTexts.join(" ");
  const { page, complaints } = await open(t, ({ manifest }) =>
    manifest === undefined
      ? planAnswer({
          summary: hostile,
          steps: [hostile],
          notices: [hostile],
          pods: [{ way: "new", namespace: hostile, name: hostile, text: hostile, requests: 1 }],
        })
      : { refusal: hostile },
  );
  t.ok((await page.locator(".plan .outcome").innerText()).includes("</script><script>window.attacked=1"));
  await drop(page, [["<img src=x onerror=window.attacked=1>", hostile]]);
  await page.waitForSelector(".plan .refused");
  t.equal(await page.evaluate("window.attacked"), undefined);
  t.equal(await page.locator(".plan img, .plan script").count(), 0);
  t.strictSame(complaints, []);
});

t.test("kinds without a plan, the past and other workloads have none of it", { skip }, async (t) => {
  const { page, one, asked } = await open(t, () => planAnswer());
  await page.getByText("With a manifest").click();
  await page.waitForSelector("footer.time");
  await page.locator("#time").focus();
  await page.keyboard.press("Home");
  await page.waitForSelector("text=Back to now");
  await untilShown("a past that is not planned", async () => (await page.locator(".plan").count()) === 0);
  await page.getByText("Back to now").click();
  await page.waitForSelector(".plan");
  await page.locator("#time").focus();
  await page.keyboard.press("Home");
  await page.waitForSelector("text=Back to now");
  const before = asked.length;
  await drop(page, [["web.yaml", "kind: Y\n"]]);
  t.equal(await page.locator(".drop-here").count(), 0);
  t.equal(asked.length, before, "nor is a file that is dropped there");
  await page.getByText("Back to now").click();
  await page.waitForSelector(".plan");
  one.put(key, workload({ kind: "Deployment", group: "apps" }));
  await untilShown("no plan", async () => (await page.locator(".plan").count()) === 0);
  await drop(page, [["web.yaml", "kind: Y\n"]]);
  await page.waitForSelector("text=If web.yaml were applied");
  await page.waitForSelector(".plan .outcome b");
  t.strictSame(asked.at(-1), { manifest: "kind: Y\n" }, "it may be of another workload");
});
