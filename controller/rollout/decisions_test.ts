/** The collector of what a pass decides. */
import t from "tap";
import { barePod } from "../../testkit/controller/pod_builder.ts";
import { Decisions } from "./decisions.ts";
import type { Action, Waiting } from "./writes/actions.ts";
import { deletePod, patchPod } from "./writes/pod_actions.ts";

const patch = (name: string) => patchPod(barePod(name), { labels: { seen: "true" } }, 0, "update");
const deletion = (name: string): Action => deletePod(barePod(name));
const event = (reason: string): Action => ({
  type: "event",
  event: { type: "Normal", reason, message: "" },
});
const explaining = { explains: true };
const reason = (text: string): Waiting => ({ reason: text, message: "", until: "" });

/** Actions by what they are about. */
function told({ actions }: { readonly actions: readonly Action[] }): string[] {
  return actions.map((action) => {
    if (action.type === "event") return action.event.reason;
    return "pod" in action ? `${action.type} ${action.pod.name}` : action.type;
  });
}

t.test("actions keep their order, and the last ones come after all others", async (t) => {
  const decisions = new Decisions();
  decisions.last.take(deletion("c"));
  decisions.take(event("First"));
  decisions.takeAll([patch("a"), patch("b")]);
  decisions.last.take(event("Last"));
  t.same(told(decisions.last), ["delete pod c", "Last"], "so far");
  t.same(told(decisions.plan({}, explaining)), [
    "First",
    "patch pod a",
    "patch pod b",
    "delete pod c",
    "Last",
  ]);
});

t.test("a pod is taken by its action, whichever part of the pass it comes in", async (t) => {
  const decisions = new Decisions();
  const [a, b, c] = [barePod("a"), barePod("b"), barePod("c")];
  decisions.take(event("Taken"));
  decisions.take(patch("a"));
  decisions.last.take(deletion("b"));
  t.same(
    [a, b, c].map((pod) => decisions.isTaken(pod)),
    [true, true, false],
  );
  t.ok(decisions.last.isTaken(a));
  t.ok(decisions.isFree({ pod: c, busy: false }));
  t.notOk(decisions.isFree({ pod: c, busy: true }), "a write is in flight");
  decisions.hold(c);
  t.notOk(decisions.isFree({ pod: c, busy: false }), "it is held");
  t.equal(decisions.plan({}, explaining).actions.length, 3, "which is no action");
});

t.test("a proposal comes before the last actions, unless another one took its pod", async (t) => {
  const decisions = new Decisions();
  decisions.propose(patch("a"));
  decisions.propose(patch("b"));
  decisions.last.take(event("Last"));
  decisions.take(deletion("a"));
  decisions.last.propose(patch("b"));
  t.same(told(decisions.plan({}, explaining)), ["delete pod a", "patch pod b", "Last"]);
  t.ok(decisions.isTaken(barePod("b")), "its reasons to wait are not reported");
});

t.test(
  "reasons keep their order, and costly ones are worked out only where a plan explains itself",
  async (t) => {
    const decisions = new Decisions();
    let asked = 0;
    decisions.last.wait(reason("Last"));
    decisions.wait(reason("First"), () => {
      asked++;
      return decisions.isTaken(barePod("a")) ? [reason("Lazy")] : [];
    });
    decisions.wait(reason("Second"));
    decisions.take(patch("a"));
    t.same(decisions.plan({}, { explains: false }).waiting, []);
    t.equal(asked, 0);
    t.same(
      decisions.plan({}, explaining).waiting.map((one) => one.reason),
      ["First", "Lazy", "Second", "Last"],
    );
    t.equal(asked, 1);
  },
);

t.test("the earliest time is the one to look again", async (t) => {
  const decisions = new Decisions();
  t.equal(new Decisions().plan({}, explaining).requeueAfterMs, undefined);
  decisions.requeueAfter(undefined);
  decisions.requeueAfter(30);
  decisions.last.requeueAfter(20);
  decisions.requeueAfter(40);
  decisions.requeueAfter(undefined);
  t.equal(decisions.plan({}, explaining).requeueAfterMs, 20);
});

t.test("of several failures of a concern the first is told", async (t) => {
  const decisions = new Decisions();
  decisions.last.fail("update", "first");
  decisions.fail("update", "second");
  t.same({ scale: "stored", ...decisions.failures }, { scale: "stored", update: "first" });
});
