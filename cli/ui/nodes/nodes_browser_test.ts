/** The view of nodes in a real browser, on nodes that are made up. */
import t from "tap";
import {
  browserMissing,
  isTooWide,
  openPage,
  TestBrowser,
  untilShown,
} from "../../../testkit/cli/page_fixture.ts";
import { hostileTexts, node, workload } from "../../../testkit/cli/page_items_builder.ts";
import { unreadKey } from "../shared/detail_items.ts";
import type { NodeWork } from "../shared/node_items.ts";

const browser = new TestBrowser();
t.teardown(() => browser.close());
const skip = browserMissing;
const since = Date.now() - 18_060_000;
const pull: NodeWork = {
  kind: "pull",
  what: "web:2",
  detail: "",
  phase: "Pulling",
  message: "",
  progress: 40,
  since,
};

t.test("the list leads to the nodes, of which what needs somebody comes first", { skip }, async (t) => {
  const { fleet, one, page, go, complaints } = await openPage(t, browser);
  fleet.put("a", workload());
  one.put("node/a", node(10));
  one.put("node/b", node(9));
  one.put("node/c", node(1, { state: "progressing", work: [pull] }));
  one.put("node/d", node(2, { state: "waiting", reason: "Cordoned", isUnschedulable: true, since }));
  one.put(
    "node/e",
    node(3, {
      state: "stuck",
      reason: "PullFailed",
      message: "no such tag",
      command: "kubectl get nodeimage node-3",
    }),
  );
  await go();
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Nodes" }).click();
  await page.waitForSelector(".of-nodes");
  const names = () => page.locator(".of-nodes .name").allTextContents();
  t.strictSame(await names(), ["node-3", "node-2", "node-1", "node-9", "node-10"]);
  t.equal(await page.title(), "Nodes · Refit");
  t.match(page.url(), /#\/nodes$/);
  const rows = page.getByRole("row");
  t.match(
    await rows.nth(1).innerText(),
    /Needs somebody.*PullFailed.*no such tag.*kubectl get nodeimage node-3/s,
  );
  t.match(await rows.nth(2).innerText(), /Held.*unschedulable.*Cordoned\s+5h/s);
  t.match(await rows.nth(3).innerText(), /Working.*Ready.*v1.*Pull\s+web:2\s+Pulling 40 %\s+5h/s);
  t.strictSame(await page.getByRole("rowheader").count(), 5, "a screen reader names the node of each cell");
  one.put("node/e", node(3));
  await untilShown(
    "an idle node among its like",
    async () => (await names()).join() === "node-2,node-1,node-3,node-9,node-10",
  );
  await page.getByRole("link", { name: "Workloads" }).click();
  await page.waitForSelector(".list .who a");
  t.strictSame(complaints, []);
});

t.test("text and states filter the nodes, and both can be cleared", { skip }, async (t) => {
  const { one, page, go, complaints } = await openPage(t, browser);
  one.put("node/a", node(1, { zone: "east", state: "progressing", work: [pull] }));
  one.put("node/b", node(2, { zone: "west" }));
  await go("#/nodes");
  await page.waitForSelector(".of-nodes");
  const shows = (...names: readonly string[]) =>
    untilShown(
      names.join(),
      async () => (await page.locator(".of-nodes .name").allTextContents()).join() === names.join(),
    );
  await page.keyboard.press("/");
  await page.keyboard.type("WEB:2 east");
  await shows("node-1");
  await page.getByLabel("Filter by text").fill("");
  await page.getByRole("button", { name: "Idle" }).click();
  await shows("node-2");
  await page.getByLabel("Filter by text").fill("east");
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await shows("node-1", "node-2");
  t.strictSame(complaints, []);
});

t.test("texts of the cluster stay texts, however long, on a phone", { skip }, async (t) => {
  const { one, page, go, complaints } = await openPage(t, browser, { width: 390, colorScheme: "dark" });
  const hostile = `${hostileTexts.join(" ")}${"x".repeat(300)}`;
  const work = { ...pull, what: hostile, detail: hostile, phase: hostile, message: hostile };
  one.put(
    "node/a",
    node(1, {
      name: hostile,
      zone: hostile,
      agent: { state: "notReady", version: hostile, heardAt: since },
      state: "stuck",
      reason: hostile,
      message: hostile,
      command: hostile,
      work: Array.from({ length: 5 }, () => work),
      moreWork: 7,
    }),
  );
  one.put(unreadKey, { is: "unread", what: [hostile] });
  await go("#/nodes");
  await page.getByText("9 more").click();
  await page.getByText("and 7 that are not listed").waitFor();
  t.equal(await page.evaluate("window.attacked"), undefined);
  t.equal(await page.locator("#app img[src=x], #app script").count(), 0);
  t.equal(await isTooWide(page), false);
  t.strictSame(complaints, []);
});

t.test("500 nodes are shown at a part, and the rest when it is asked for", { skip }, async (t) => {
  const { one, page, go, complaints } = await openPage(t, browser);
  for (let number = 0; number < 500; number++) one.put(`node/${number}`, node(number));
  await go("#/nodes");
  await page.getByRole("button", { name: "300 more" }).click();
  await untilShown("400 nodes", async () => (await page.locator(".of-nodes .name").count()) === 400);
  t.strictSame(complaints, []);
});
