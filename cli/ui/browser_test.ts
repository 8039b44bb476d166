/** The page in a real browser, on states that are made up: hostile, large, gone and back. */
import t, { type Test } from "tap";
import {
  browserMissing,
  gridSays,
  openPage,
  servePage,
  TestBrowser,
  untilShown,
} from "../../testkit/cli/page_fixture.ts";
import { pod, workload } from "../../testkit/cli/page_items_builder.ts";
import { answerKey } from "./shared/items.ts";
import type { Feed } from "./watching/feed.ts";

const browser = new TestBrowser();
t.teardown(() => browser.close());
const skip = browserMissing;
const key = "clonesets.apps.kruise.io/default/web";
const open = (t: Test, width?: number) => openPage(t, browser, width === undefined ? {} : { width });

t.test("the list is sorted by need, filters, and follows changes", { skip }, async (t) => {
  const served = await open(t);
  const { fleet, page, complaints } = served;
  fleet.put("a", workload({ name: "a-done", state: "done" }));
  fleet.put("b", workload({ name: "b-moves" }));
  fleet.put(
    "c",
    workload({ name: "c-stuck", state: "stuck", reason: "CrashLoopBackOff", namespace: "shop" }),
  );
  await served.go();
  const names = () => page.locator(".list .who a").allTextContents();
  const lists = (...expected: readonly string[]) =>
    untilShown(expected.join(), async () => (await names()).join() === expected.join());
  await page.waitForSelector(".list");
  await lists("c-stuck", "b-moves", "a-done");
  t.notMatch(page.url(), /token/, "the address lost the token");
  await page.keyboard.press("/");
  await page.keyboard.type("crash");
  await lists("c-stuck");
  await page.locator("#search").fill("");
  await page.locator("select").first().selectOption("shop");
  await lists("c-stuck");
  await page.locator("select").first().selectOption("");
  await page.locator(".tile.done").click();
  await lists("a-done");
  fleet.put("a", workload({ name: "a-done" }));
  await page.waitForSelector("text=Nothing matches");
  await page.getByText("Clear the filters").click();
  await lists("c-stuck", "a-done", "b-moves");
  t.strictSame(complaints, []);
});

t.test("hostile texts stay texts", { skip }, async (t) => {
  const served = await open(t, 390);
  const { fleet, one, page } = served;
  const hostile = `<img src=x onerror="window.attacked=1"><script>window.attacked=1</script>`;
  const long = "x".repeat(2_000);
  const item = workload({
    name: `${hostile}${long}`,
    namespace: hostile,
    reason: hostile,
    reasonText: `${hostile}${long}`,
    state: "stuck",
    revision: hostile,
  });
  fleet.put(key, item);
  one.put(key, item);
  one.put(
    "pod/x",
    pod(1, { name: `${hostile}${long}`, node: hostile, revision: hostile, image: `javascript:${long}` }),
  );
  one.put(answerKey, {
    is: "answer",
    command: `refit why ${hostile}${long}`,
    state: "stuck",
    message: hostile,
    reasons: [{ code: hostile, outlook: "stuck", text: long, end: hostile, pods: [hostile], command: long }],
    next: [hostile],
    notices: [hostile],
    unread: hostile,
  });
  const isWide = "document.documentElement.scrollWidth > innerWidth";
  await served.go();
  await page.waitForSelector(".list");
  t.equal(await page.evaluate(isWide), false, "a long name does not make the list wider than a phone");
  await page.evaluate(`location.hash = "#/${key}"`);
  await page.waitForSelector(".grid");
  await page.getByText("The pods as a table").click();
  await page.waitForSelector(".pod-table td");
  t.equal(await page.evaluate("window.attacked"), undefined);
  t.equal(await page.locator("#app img[src=x], #app script").count(), 0);
  t.equal(await page.evaluate(isWide), false, "nor the workload");
});

t.test("the slider shows the pods as they were, and comes back to now", { skip }, async (t) => {
  const served = await open(t);
  const { fleet, one, page, complaints } = served;
  fleet.put(key, workload());
  one.put(key, workload());
  for (let number = 0; number < 4; number++)
    one.put(`pod/${number}`, pod(number, { node: `node-${number % 500}` }));
  await served.go(`#/${key}`);
  await page.waitForSelector(".grid");
  // It comes once there is a second to go back to.
  await page.waitForSelector("footer.time");
  for (let number = 0; number < 4; number++) one.put(`pod/${number}`, pod(number, { revision: "new" }));
  await gridSays(page, "4 at the new");
  await page.locator("#time").focus();
  await page.keyboard.press("Home");
  await gridSays(page, "4 pods, 0 at the new revision: 4 ready");
  await page.getByText("Back to now").click();
  await gridSays(page, "4 at the new");
  await page.locator(".grid").focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForSelector(".told >> text=web-0");
  t.strictSame(complaints, []);
});

t.test("a grid that is painted in parts is the one that is painted at once", { skip }, async (t) => {
  const states = ["updating", "failing", "pending", "terminating"] as const;
  const change = (one: Feed): void => {
    for (const [number, state] of states.entries())
      one.put(`pod/${number * 9}`, pod(number * 9, { revision: "new", state }));
  };
  const picture = async (isOpenBefore: boolean): Promise<unknown> => {
    const served = await open(t);
    const { one, page } = served;
    one.put(key, workload());
    for (let number = 0; number < 40; number++) one.put(`pod/${number}`, pod(number));
    if (!isOpenBefore) change(one);
    await served.go(`#/${key}`);
    await gridSays(page, isOpenBefore ? "0 at the new" : "4 at the new");
    // What is said comes with one frame, what is painted with the next one.
    await page.evaluate(frames(3));
    if (isOpenBefore) change(one);
    await gridSays(page, "4 at the new");
    await page.evaluate(frames(3));
    return page.evaluate(`document.querySelector(".grid").toDataURL()`);
  };
  t.equal(await picture(true), await picture(false));
});

/** Resolves in the page after so many frames. */
const frames = (count: number): string =>
  `new Promise((resolve) => { const after = (left) => left === 0 ? resolve() : requestAnimationFrame(() => after(left - 1)); after(${count}); })`;

t.test("a server that went away and came back is followed again", { skip }, async (t) => {
  const served = await open(t);
  const { fleet, one, page, server } = served;
  fleet.put("a", workload({ name: "before" }));
  await served.go();
  await page.waitForSelector("text=before");
  await server.stop();
  await page.waitForSelector("text=Not connected");
  t.equal(await page.locator("text=before").count(), 1, "what was seen stays");
  fleet.put("a", workload({ name: "after" }));
  const again = await servePage(await browser.assets, fleet, one, server.port);
  t.teardown(() => again.stop());
  await page.waitForSelector("text=after");
  await page.waitForSelector("text=Live");
});

t.test("10,000 pods on 500 nodes stay fluid while 500 change a second", { skip }, async (t) => {
  const served = await open(t);
  const { fleet, one, page } = served;
  const big = workload({ desired: 10_000, available: 10_000, allowed: 1_000 });
  fleet.put(key, big);
  one.put(key, big);
  for (let number = 0; number < 10_000; number++) one.put(`pod/${number}`, pod(number));
  await served.go(`#/${key}`);
  await gridSays(page, "10000 pods");
  let next = 0;
  const changing = setInterval(() => {
    for (let each = 0; each < 50; each++, next++)
      one.put(
        `pod/${next}`,
        pod(next, {
          node: `node-${next % 500}`,
          revision: "new",
          state: next % 3 === 0 ? "updating" : "ready",
        }),
      );
  }, 100);
  const frames = await page.evaluate(`new Promise((resolve) => {
    const times = [];
    const look = (at) => { times.push(at); if (at - times[0] < 3000) requestAnimationFrame(look); else resolve(times); };
    requestAnimationFrame(look);
  })`);
  clearInterval(changing);
  const times: number[] = Array.isArray(frames) ? frames.map(Number) : [];
  const steps = times.slice(1).map((at, index) => at - (times[index] ?? at));
  const longest = Math.max(...steps);
  t.comment(`${(times.length / 3).toFixed(0)} frames a second, the longest took ${longest.toFixed(0)} ms`);
  t.ok(times.length > 0, "it draws while they change");
});
