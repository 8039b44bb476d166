/** What the page shows of workloads of several kinds, in a real browser, on states that are made up. */
import t from "tap";
import {
  browserMissing,
  isTooWide,
  openPage,
  TestBrowser,
  untilShown,
} from "../../testkit/cli/page_fixture.ts";
import { hostileTexts, pod, workload } from "../../testkit/cli/page_items_builder.ts";
import { rolloutKey, unreadKey } from "./shared/detail_items.ts";

const browser = new TestBrowser();
t.teardown(() => browser.close());
const skip = browserMissing;
const key = "statefulsets.apps.kruise.io/default/web";

t.test("the list filters by labels, and says what of them it cannot read", { skip }, async (t) => {
  const { fleet, page, go, complaints } = await openPage(t, browser);
  fleet.put("a", workload({ name: "front", labels: { app: "web", tier: "front" } }));
  fleet.put("b", workload({ name: "store", labels: { app: "web", tier: "db" } }));
  await go();
  await page.waitForSelector(".list");
  const lists = (...names: readonly string[]) =>
    untilShown(
      names.join(),
      async () => (await page.locator(".list .who a").allTextContents()).join() === names.join(),
    );
  await lists("front", "store");
  const field = page.getByLabel("Filter by labels");
  await field.fill("app=web,tier!=db");
  await lists("front");
  await field.fill("tier=none");
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await lists("front", "store");
  await field.fill("app=web,");
  await page.waitForSelector("text=The labels do not filter yet");
  t.equal(await field.getAttribute("aria-invalid"), "true");
  await lists("front", "store");
  t.strictSame(complaints, []);
});

t.test("pods are grouped as chosen, and the choice stays for the next workload", { skip }, async (t) => {
  const { one, page, go, complaints } = await openPage(t, browser, { width: 390 });
  one.put(key, workload({ kind: "StatefulSet" }));
  for (let number = 0; number < 4; number++)
    one.put(`pod/${number}`, pod(number, { zone: `zone-${number % 2}`, subset: "s" }));
  await go(`#/${key}`);
  await page.waitForSelector(".grid");
  const choices = page.getByRole("group", { name: "Pods by" });
  t.strictSame(await choices.locator("button").allTextContents(), [
    "Node",
    "Zone",
    "Subset",
    "Ordinal",
    "Name",
  ]);
  const isByZone = async (): Promise<boolean> =>
    (await choices.getByRole("button", { name: "Zone" }).getAttribute("aria-pressed")) === "true";
  await choices.getByRole("button", { name: "Zone" }).click();
  await untilShown("the choice", isByZone);
  await page.locator(".grid").focus();
  const told: string[] = [];
  for (let number = 0; number < 2; number++) {
    await page.keyboard.press("ArrowRight");
    await untilShown("another pod", async () => {
      const text = (await page.locator(".told b").allTextContents())[0] ?? "";
      if (text !== "" && text !== told.at(-1)) return told.push(text) > 0;
      return false;
    });
  }
  t.strictSame(told, ["web-0", "web-2"], "those of one zone stand beside each other");
  t.equal(await isTooWide(page), false);
  await page.evaluate(`location.hash = "#/${key}-2"`);
  await page.waitForSelector("text=There is no workload of this name");
  one.put(`${key}-2`, workload({ kind: "StatefulSet" }));
  await untilShown("the choice", isByZone);
  t.strictSame(complaints, []);
});

t.test("the ruler shows where the partition stands, and pods that wait at hooks", { skip }, async (t) => {
  const { one, page, go, complaints } = await openPage(t, browser, { width: 390 });
  one.put(key, workload({ kind: "StatefulSet" }));
  one.put("pod/0", pod(0, { lifecycle: "PreparingDelete" }));
  const hook = { name: "preDelete" as const, handlers: [`<img src=x>${"x".repeat(300)}`] };
  const whole = { label: "partition", given: "50%", total: 4, kept: 2, updated: 1 };
  one.put(rolloutKey, { is: "rollout", scales: [whole], hooks: [hook], isOnDelete: false });
  await go(`#/${key}`);
  await page.waitForSelector(".ruler");
  const scale = page.locator(".ruler .scale");
  t.equal(
    await scale.getAttribute("aria-label"),
    "1 of 4 pods updated; 2 may be, 2 are held by the partition 50%",
  );
  t.equal(await page.locator(".ruler .stop").getAttribute("x1"), "50%");
  t.match(
    await page.locator(".ruler .legend").innerText(),
    /updated\s+1\s+may follow\s+1\s+held by the partition 50%\s+2/,
  );
  t.match(await page.locator(".hooks .waits").innerText(), /Before a pod is deleted.*1 pod waits/s);
  t.equal(await page.locator("#app img[src=x]").count(), 0);
  t.equal(await isTooWide(page), false);
  one.put(rolloutKey, {
    is: "rollout",
    scales: [{ ...whole, kept: 0, given: "" }],
    hooks: [],
    isOnDelete: false,
  });
  await untilShown(
    "a ruler without a partition",
    async () => (await scale.getAttribute("aria-label")) === "1 of 4 pods updated; all may be",
  );
  t.equal(await page.locator(".ruler .stop").count(), 0);
  const done = { label: "", given: "", total: 4, kept: 0, updated: 4 };
  one.put(rolloutKey, { is: "rollout", scales: [done], hooks: [], isOnDelete: false });
  await untilShown("no ruler of what is done", async () => (await page.locator(".ruler").count()) === 0);
  t.strictSame(complaints, []);
});

t.test("a job has pods that succeeded, and no revisions and no budget", { skip }, async (t) => {
  const { fleet, one, page, go, complaints } = await openPage(t, browser);
  const job = { isJob: true, kind: "BroadcastJob", desired: 3, updated: 2, available: 3, revision: "" };
  const cron = {
    isJob: true,
    kind: "AdvancedCronJob",
    name: "nightly",
    desired: 0,
    updated: 0,
    available: 0,
  };
  for (const feed of [fleet, one]) feed.put(key, workload(job));
  fleet.put("cron", workload(cron));
  one.put("pod/0", pod(0, { state: "completed", revision: "" }));
  one.put("pod/1", pod(1, { state: "completed", revision: "" }));
  one.put("pod/2", pod(2, { revision: "" }));
  await go();
  await page.waitForSelector(".list");
  const progress = page.locator(".list .how-far");
  await untilShown("both rows", async () => (await progress.count()) === 2);
  t.strictSame((await progress.allInnerTexts()).map((text) => text.trim()).sort(), ["", "2 of 3 succeeded"]);
  await go(`#/${key}`);
  await page.waitForSelector(".grid");
  t.match(await page.locator(".facts").innerText(), /^Succeeded\s+2 of 3\s+Running\s+1$/);
  t.match(await page.locator(".legend").first().innerText(), /^Ready\s+1\s+Completed\s+2$/);
  t.equal(
    await page
      .locator(".grid")
      .getAttribute("aria-label")
      .then((text) => text?.split(".")[0]),
    "3 pods: 2 completed, 1 ready",
  );
  t.equal(await page.getByRole("region", { name: "Budget" }).count(), 0);
  t.strictSame(complaints, []);
});

t.test("revisions, their changes and events are texts, newest first", { skip }, async (t) => {
  const { one, page, go, complaints } = await openPage(t, browser, { width: 390 });
  one.put(key, workload({ kind: "StatefulSet" }));
  one.put("pod/0", pod(0, { revision: "new" }));
  await go(`#/${key}`);
  await page.waitForSelector("text=A cluster forgets them");
  const hostile = `${hostileTexts.join(" ")}${"x".repeat(400)}`;
  const revision = {
    is: "revision" as const,
    number: 1,
    revision: "old",
    cause: hostile,
    images: [hostile],
    changes: [],
    moreChanges: 0,
  };
  one.put("revision/1", revision);
  one.put("revision/2", {
    ...revision,
    number: 2,
    revision: "new",
    since: 1,
    changes: [{ path: hostile, from: "", to: hostile }],
    moreChanges: 2,
  });
  const event = {
    is: "event" as const,
    isWarning: true,
    reason: "Older",
    message: hostile,
    kind: "Pod",
    name: hostile,
  };
  one.put("event/1", { ...event, count: 3, at: Date.now() - 18_060_000 });
  one.put("event/2", { ...event, reason: "Newer", count: 1, at: Date.now() - 60_000 });
  one.put(unreadKey, { is: "unread", what: [hostile] });
  await page.waitForSelector("text=3 changes since revision 1");
  t.strictSame(await page.locator(".revisions > li b").allTextContents(), ["2", "1"]);
  t.match(await page.locator(".revisions > li").first().innerText(), /1 pod/);
  t.strictSame(await page.locator(".events li b").allTextContents(), ["Newer", "Older"]);
  t.match(await page.locator(".events .when").last().innerText(), /3 times, 5h ago/);
  t.equal(await page.evaluate("window.attacked"), undefined);
  t.equal(await page.locator("#app img[src=x], #app script").count(), 0);
  t.equal(await isTooWide(page), false);
  t.strictSame(complaints, []);
});

t.test("what agents of nodes do is told with its state and since when", { skip }, async (t) => {
  const { one, page, go, complaints } = await openPage(t, browser, { width: 390 });
  one.put(key, workload({ kind: "StatefulSet" }));
  const since = Date.now() - 18_060_000;
  const hostile = `${hostileTexts.join(" ")}${"x".repeat(300)}`;
  one.put("recreate/again", {
    is: "recreate",
    name: "again",
    pod: "web-1",
    node: hostile,
    phase: "Recreating",
    message: hostile,
    containers: [{ name: "side", phase: "Failed" }],
    since,
  });
  const node = { node: hostile, phase: "Pulling", message: hostile, progress: 40, since };
  one.put("pull/a", {
    is: "pull",
    name: "pull",
    image: hostile,
    desired: 3,
    succeeded: 1,
    failed: 0,
    message: "",
    since,
    nodes: [node],
    moreNodes: 1,
  });
  await go(`#/${key}`);
  const recreate = page.getByRole("region", { name: "Recreate requests" });
  t.match(await recreate.innerText(), /again\s+Failed\s+5h ago\s+web-1 on/);
  const pulls = page.getByRole("region", { name: "Image pulls" });
  t.match(await pulls.innerText(), /1 of 3 nodes.*Pulling 40 %\s+5h.*1 node more/s);
  t.equal(await page.locator("#app img[src=x], #app script").count(), 0);
  t.equal(await isTooWide(page), false);
  one.remove("pull/a");
  await untilShown("no pulls", async () => (await pulls.count()) === 0);
  t.strictSame(complaints, []);
});

t.test("a recreate request that its deadline ended looks like one that failed", { skip }, async (t) => {
  const { one, page, go } = await openPage(t, browser);
  one.put(key, workload({ kind: "StatefulSet" }));
  for (const [name, phase] of [
    ["done", "Succeeded"],
    ["late", "Recreating"],
  ] as const)
    one.put(`recreate/${name}`, {
      is: "recreate",
      name,
      pod: "web-1",
      node: "node-1",
      phase: "Completed",
      message: "",
      containers: [{ name: "web", phase }],
      since: Date.now(),
    });
  await go(`#/${key}`);
  const recreate = page.getByRole("region", { name: "Recreate requests" });
  t.match(await recreate.locator("li", { hasText: "done" }).locator(".tag").getAttribute("class"), /good/);
  t.match(await recreate.locator("li", { hasText: "late" }).locator(".tag").getAttribute("class"), /bad/);
});

t.test("subsets and owners are told with wanted and present counts", { skip }, async (t) => {
  const { one, page, go, complaints } = await openPage(t, browser, { width: 390, colorScheme: "dark" });
  const hostile = `${hostileTexts.join(" ")}${"x".repeat(300)}`;
  one.put(key, workload({ kind: "StatefulSet" }));
  one.put("pod/0", pod(0, { subset: "a" }));
  const subset = {
    is: "subset" as const,
    of: "UnitedDeployment web",
    name: "a",
    given: "50%",
    wanted: 2,
    isClosed: true,
  };
  one.put("subset/a", subset);
  one.put("subset/b", { ...subset, of: hostile, name: hostile, given: "", present: 7, isClosed: false });
  const versions = [
    { version: "v2", pods: 1, isNewest: true },
    { version: hostile, pods: 3, isNewest: false },
  ];
  one.put("owner/a", {
    is: "owner",
    namespace: "shop",
    kind: "CloneSet",
    name: hostile,
    pods: 4,
    updated: 1,
    versions,
  });
  await go(`#/${key}`);
  const subsets = page.getByRole("region", { name: "Subsets" });
  t.match(await subsets.innerText(), /a\s+takes no pods\s+1 of 2 · 50%/);
  t.match(await subsets.innerText(), /7 of 2 · the rest/);
  t.match(
    await page.getByRole("region", { name: "Sidecar versions by owner" }).innerText(),
    /1 of 4 pods.*v2\s+new\s+1/s,
  );
  t.equal(await page.locator("#app img[src=x], #app script").count(), 0);
  t.equal(await isTooWide(page), false);
  t.strictSame(complaints, []);
});
