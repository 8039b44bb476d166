/** Hot upgrades of a SidecarSet in a real browser, on states that are made up. */
import t from "tap";
import {
  browserMissing,
  isTooWide,
  openPage,
  TestBrowser,
  untilShown,
} from "../../../testkit/cli/page_fixture.ts";
import { hostileTexts, hotUpgrade, pod, workload } from "../../../testkit/cli/page_items_builder.ts";

const browser = new TestBrowser();
t.teardown(() => browser.close());
const key = "sidecarsets.apps.kruise.io/mesh";

t.test("both containers of each pod are told as they alternate", { skip: browserMissing }, async (t) => {
  const { one, page, go, complaints } = await openPage(t, browser, { width: 390, colorScheme: "dark" });
  const hostile = `${hostileTexts.join(" ")}${"x".repeat(300)}`;
  one.put(key, workload({ kind: "SidecarSet", namespace: "", name: "mesh" }));
  for (let number = 0; number < 3; number++) one.put(`pod/${number}`, pod(number));
  one.put("hot/a", hotUpgrade("web-0", "rests"));
  one.put("hot/b", hotUpgrade("web-1", "handingOver"));
  await go(`#/${key}`);
  const card = page.getByRole("region", { name: /^Hot upgrades/ });
  t.match(await card.innerText(), /1 of 2 up to date, 1 under way/);
  t.match(await card.innerText(), /2 of 3 pods are listed/);
  const rows = card.getByRole("row");
  t.match(
    await rows.nth(1).innerText(),
    /web-1.*Hands over.*envoy:1.*Takes over\s+version 345\s+envoy:2.*goes to rest/s,
  );
  t.match(
    await rows.nth(2).innerText(),
    /web-0.*At rest\s+empty.*Works\s+version 345\s+envoy:2.*Up to date/s,
  );
  one.put("hot/b", hotUpgrade("web-1", "rests"));
  await untilShown("the end", async () => (await card.innerText()).includes("2 of 2 up to date"));
  const slots = hotUpgrade("web-2", "starting").slots.map((slot) => ({
    ...slot,
    image: hostile,
    version: hostile,
  }));
  one.put("hot/c", { ...hotUpgrade(hostile, "starting"), slots, namespace: hostile, sidecar: hostile });
  await untilShown("another pod", async () => (await rows.count()) === 4);
  t.equal(await page.evaluate("window.attacked"), undefined);
  t.equal(await page.locator("#app img[src=x], #app script").count(), 0);
  t.equal(await isTooWide(page), false);
  t.strictSame(complaints, []);
});
