/** The page in a real browser, of whose state only a part has come. */
import t, { type Test } from "tap";
import {
  browserMissing,
  gridSays,
  openPage,
  type Served,
  servePage,
  TestBrowser,
} from "../../testkit/cli/page_fixture.ts";
import { pod, workload } from "../../testkit/cli/page_items_builder.ts";
import { answerKey, type Item } from "./shared/items.ts";
import { piecesOf } from "./shared/pieces.ts";
import type { Feed } from "./watching/feed.ts";

const browser = new TestBrowser();
t.teardown(() => browser.close());
const skip = browserMissing;
const key = "clonesets.apps.kruise.io/default/web";

/** A workload of 1,200 pods, with an answer. */
async function open(t: Test): Promise<Served> {
  const served = await openPage(t, browser);
  const { one } = served;
  one.put(key, workload({ desired: 1_200, updated: 700, available: 1_200 }));
  for (let number = 0; number < 1_200; number++) one.put(`pod/${number}`, pod(number));
  const said = { reasons: [], next: [], notices: [], unread: "" };
  one.put(answerKey, {
    is: "answer",
    command: "refit why",
    state: "progressing",
    message: "It goes on.",
    ...said,
  });
  return served;
}

/** What of the feed has come when the stream breaks off in the middle. */
function half(feed: Feed): string {
  const pieces = piecesOf<Item>(
    { at: 1, isWhole: true, put: [...feed.state], gone: [] },
    ({ is }) => is === "pod",
  );
  const begun = pieces.slice(0, Math.ceil(pieces.length / 2));
  return begun.map((piece) => `data: ${JSON.stringify(piece)}\n\n`).join("");
}

interface Break {
  /** Resolves when the page had the first half, and asks again. */
  readonly askedAgain: Promise<void>;
  /** From then on streams come from the server. */
  resume(): void;
}

/** The next stream is the first half of the state. */
async function breakNext({ page, one }: Served): Promise<Break> {
  const { promise: askedAgain, resolve: ask } = Promise.withResolvers<void>();
  const { promise: resumed, resolve: resume } = Promise.withResolvers<void>();
  let isBroken = false;
  await page.route(/\/events/, async (route) => {
    if (!isBroken) {
      isBroken = true;
      return route.fulfill({ contentType: "text/event-stream", body: half(one) });
    }
    ask();
    await resumed;
    return route.continue();
  });
  return { askedAgain, resume };
}

t.test("what has come is shown before the last pod has, with numbers that are right", { skip }, async (t) => {
  const served = await open(t);
  const { page, complaints } = served;
  const { resume } = await breakNext(served);
  await served.go(`#/${key}`);
  const reading = page.locator(".reading");
  await reading.getByText("997 of 1200 pods read").waitFor();
  t.match(await page.locator(".workload .facts").textContent(), /700 of 1200/);
  await page.getByText("It goes on.").waitFor();
  t.equal(await page.locator(".grid").count(), 0, "no grid of some of them");
  t.equal(await page.locator("footer.time").count(), 0, "nothing to go back to");
  resume();
  await gridSays(page, "1200 pods");
  t.equal(await reading.count(), 0);
  await page.waitForSelector("text=Live");
  t.strictSame(complaints, []);
});

t.test(
  "a stream that breaks off in the middle leaves what was there, and the next one replaces all of it",
  { skip },
  async (t) => {
    const served = await open(t);
    const { one, page, server } = served;
    await served.go(`#/${key}`);
    await gridSays(page, "1200 pods");
    const { askedAgain, resume } = await breakNext(served);
    await server.stop();
    for (let number = 0; number < 50; number++) one.remove(`pod/${number}`);
    const again = await servePage(await browser.assets, served.fleet, one, server.port);
    t.teardown(() => again.stop());
    await askedAgain;
    await page.waitForSelector("text=Not connected");
    await gridSays(page, "1200 pods");
    resume();
    await gridSays(page, "1150 pods");
    await page.waitForSelector("text=Live");
    await page.locator("#time").focus();
    await page.keyboard.press("Home");
    await gridSays(page, "1200 pods");
  },
);
