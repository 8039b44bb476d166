/** The page in a real browser, in its first frames: what is there to see comes first, and nothing is drawn for nothing. */
import t from "tap";
import { browserMissing, gridSays, openPage, TestBrowser } from "../../testkit/cli/page_fixture.ts";
import { pod, workload } from "../../testkit/cli/page_items_builder.ts";

const browser = new TestBrowser();
t.teardown(() => browser.close());
const skip = browserMissing;
const key = "clonesets.apps.kruise.io/default/web";

t.test("a list has the rows of a window first, and all of them right after", { skip }, async (t) => {
  const { fleet, page, go } = await openPage(t, browser);
  for (let number = 0; number < 100; number++)
    fleet.put(`clonesets.apps.kruise.io/default/web-${number}`, workload({ name: `web-${number}` }));
  await page.addInitScript(`{
    const counts = (window.rowCounts = new Set());
    new MutationObserver(() => {
      const rows = document.querySelectorAll(".list tbody tr").length;
      if (rows > 0) counts.add(rows);
    }).observe(document, { childList: true, subtree: true });
  }`);
  await go();
  await page.locator(".list tbody tr").nth(99).waitFor();
  t.strictSame(await page.evaluate("[...window.rowCounts]"), [30, 100]);
  t.match(await page.locator(".tile.progressing .number").textContent(), "100");
  await page.locator(".list .who a").first().focus();
  fleet.put("clonesets.apps.kruise.io/default/zz", workload({ name: "zz" }));
  await page.locator(".list tbody tr").nth(100).waitFor();
  t.strictSame(await page.evaluate("window.rowCounts.size"), 3, "later ones have all at once");
  t.match(await page.evaluate("document.activeElement.textContent"), /^web-/, "the focus stays where it was");
});

t.test("no frame shows a grid before its pods are painted", { skip }, async (t) => {
  const { one, page, go } = await openPage(t, browser);
  one.put(key, workload({ desired: 200, available: 200 }));
  for (let number = 0; number < 200; number++) one.put(`pod/${number}`, pod(number));
  await page.addInitScript(`{
    window.bareGrids = 0;
    const look = () => {
      const grid = document.querySelector(".grid");
      if (grid !== null && grid.style.height === "") window.bareGrids++;
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }`);
  await go(`#/${key}`);
  await gridSays(page, "200 pods");
  t.equal(await page.evaluate("window.bareGrids"), 0);
});

t.test("while the server says nothing the page says so, whatever it was opened for", { skip }, async (t) => {
  for (const hash of ["", `#/${key}`]) {
    const { page, go } = await openPage(t, browser);
    await page.route(/\/events/, () => undefined);
    await go(hash);
    await page.getByText("Not connected").waitFor();
    t.match(
      await page.locator("main").textContent(),
      hash === "" ? /Reading the cluster/ : /Reading its pods/,
    );
    t.equal(await page.locator("header.top a.brand").count(), 1);
  }
});
