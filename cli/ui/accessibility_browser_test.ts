/** What axe finds in the page: nothing, in each of its states, in the dark and on a phone. */
import t from "tap";
import { violations } from "../../testkit/cli/accessibility.ts";
import {
  browserMissing,
  gridSays,
  openPage,
  type PageOptions,
  type Served,
  TestBrowser,
} from "../../testkit/cli/page_fixture.ts";
import { hotUpgrade, node, pod, workload } from "../../testkit/cli/page_items_builder.ts";
import { planAnswer } from "../../testkit/cli/plan_answers.ts";
import { unreadKey } from "./shared/detail_items.ts";
import { answerKey } from "./shared/items.ts";

const browser = new TestBrowser();
t.teardown(() => browser.close());
const key = "clonesets.apps.kruise.io/default/web";

async function openPlan({ fleet, one, page, go }: Served): Promise<void> {
  for (const feed of [fleet, one]) feed.put(key, workload({ desired: 8 }));
  for (let number = 0; number < 8; number++) one.put(`pod/default/web-${number}`, pod(number));
  await go(`#/${key}`);
  await page.waitForSelector(".plan .legend");
}

/** Of the workload as it is; manifests are refused. */
const planning: PageOptions["planning"] = {
  plan: async (body) =>
    body.includes("manifest") ? { refusal: "the manifest: there is no object in it" } : planAnswer(),
};

const gone = "a server that went away";
/** Prepares what is seen, and waits until it is. */
const states: Readonly<Record<string, (served: Served) => Promise<unknown>>> = {
  "an empty list": async (served) => {
    await served.go();
    await served.page.waitForSelector(".empty");
  },
  "a list": async (served) => {
    const { fleet, page } = served;
    fleet.put("a", workload({ name: "a-done", state: "done", updated: 4 }));
    fleet.put("b", workload({ name: "b-paused", isPaused: true, state: "waiting", reason: "Paused" }));
    fleet.put("c", workload({ name: "c-stuck", state: "stuck", reason: "CrashLoopBackOff" }));
    fleet.put("d", workload({ name: "d-unknown", state: "unknown", reasonText: "you may not list pods" }));
    await served.go();
    await page.waitForSelector("text=c-stuck");
  },
  "a list in which nothing matches": async (served) => {
    const { fleet, page } = served;
    fleet.put("a", workload());
    await served.go();
    await page.locator("#search").fill("nothing");
    await page.waitForSelector("text=Nothing matches");
  },
  "a workload with its reasons and its table": async (served) => {
    const { fleet, one, page } = served;
    fleet.put(key, workload({ state: "stuck" }));
    one.put(key, workload({ state: "stuck", reason: "CrashLoopBackOff" }));
    one.put(answerKey, {
      is: "answer",
      command: "refit why clone/web -n default",
      state: "stuck",
      message: "1 of 4 pods are updated",
      reasons: [
        {
          code: "CrashLoopBackOff",
          outlook: "stuck",
          text: "container web of a pod ends again and again",
          end: "it runs",
          pods: ["web-1"],
          command: "kubectl logs web-1 -n default",
        },
        {
          code: "Budget",
          outlook: "moving",
          text: "2 pods wait",
          end: "one is ready",
          pods: [],
          command: "",
        },
        {
          code: "Paused",
          outlook: "held",
          text: "it is paused",
          end: "it is resumed",
          pods: [],
          command: "",
        },
      ],
      next: ["update pod web-2 in place"],
      notices: ["something is to be known"],
      unread: "you may not list events",
    });
    for (let number = 0; number < 8; number++)
      one.put(
        `pods/default/web-${number}`,
        pod(number, number === 1 ? { state: "failing", reason: "CrashLoopBackOff" } : {}),
      );
    await served.go(`#/${key}`);
    await gridSays(page, "8 pods");
    await page.getByText("The pods as a table").click();
    await page.waitForSelector(".pod-table td");
  },
  "nodes and what their agents do": async ({ one, page, go }) => {
    const pull = { kind: "pull", what: "web:2", detail: "", message: "no such tag", since: 0 } as const;
    const work = ["Failed", "", "Pulling", "Waiting"].map((phase) => ({ ...pull, phase }));
    const reason = { reason: "PullFailed", message: "it failed", command: "kubectl get nodeimage a" };
    one.put("node/a", node(1, { state: "stuck", ...reason, since: 0, work, moreWork: 2 }));
    const absent = { state: "absent" as const, version: "" };
    one.put("node/b", node(2, { state: "waiting", isUnschedulable: true, agent: absent }));
    one.put("node/c", node(3, { state: "progressing", work: work.slice(2), zone: "east" }));
    one.put("node/d", node(4));
    one.put(unreadKey, { is: "unread", what: ["you may not list pods"] });
    await go("#/nodes");
    await page.getByText("3 more").click();
  },
  "hot upgrades of a SidecarSet": async ({ one, page, go }) => {
    const set = "sidecarsets.apps.kruise.io/mesh";
    one.put(set, workload({ kind: "SidecarSet", namespace: "", name: "mesh" }));
    for (const [index, step] of (["starting", "handingOver", "waiting", "rests"] as const).entries())
      one.put(`hot/${index}`, hotUpgrade(`web-${index}`, step));
    await go(`#/${set}`);
    await page.waitForSelector(".hot");
  },
  "a plan, with its table": async (served) => {
    await openPlan(served);
    await served.page.getByText("The plan as a table").click();
    await served.page.waitForSelector(".plan td");
  },
  "a plan with a manifest": async (served) => {
    await openPlan(served);
    await served.page.getByText("With a manifest").click();
    await served.page.locator("#manifest").fill("kind: CloneSet");
    await served.page.getByText("Plan it").click();
    await served.page.waitForSelector(".plan .refused");
  },
  [gone]: async (served) => {
    const { fleet, page, server } = served;
    fleet.put("a", workload());
    await served.go();
    await page.waitForSelector("text=Live");
    await server.stop();
    await page.waitForSelector("text=Not connected");
  },
};

const looks = [
  { name: "light", options: { colorScheme: "light" } },
  { name: "dark", options: { colorScheme: "dark" } },
  { name: "on a phone", options: { width: 390 } },
] as const;

for (const [state, show] of Object.entries(states))
  for (const { name, options } of looks)
    t.test(`${state}, ${name}`, { skip: browserMissing }, async (t) => {
      const served = await openPage(t, browser, { ...options, planning });
      await show(served);
      // It comes once there is a second to go back to.
      if (state !== gone) await served.page.waitForSelector("footer.time");
      t.same(await violations(served.page), []);
    });

t.test("a page that somebody could not use is found", { skip: browserMissing }, async (t) => {
  const served = await openPage(t, browser);
  await served.go();
  await served.page.waitForSelector(".empty");
  await served.page.evaluate(`document.querySelector("main").append(document.createElement("button"))`);
  t.match(await violations(served.page), [/^button-name: /]);
});
