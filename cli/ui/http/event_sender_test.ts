/** What of a state is written when. */
import t from "tap";
import { pod, workload } from "../../../testkit/cli/page_items_builder.ts";
import type { Item } from "../shared/items.ts";
import { EventSender } from "./event_sender.ts";

/** Each event as the keys that it puts. */
function start() {
  const written: string[][] = [];
  const due: (() => void)[] = [];
  const sender = new EventSender({
    write: (text) => {
      const { put } = JSON.parse(text.replace(/^data: /, ""));
      written.push(put.map(([key]: [string]) => key));
    },
    later: (run) => due.push(run),
  });
  return { sender, written, turn: () => due.shift()?.() };
}

t.test("a state leaves piece by piece, and nothing comes between its pieces", async (t) => {
  const { sender, written, turn } = start();
  const put: [string, Item][] = [["web", workload()]];
  for (let number = 0; number < 6_000; number++) put.push([`pod/${number}`, pod(number)]);
  sender.send({ at: 1, isWhole: true, put, gone: [] });
  t.equal(written.length, 1, "the first piece does not wait for the text of the others");
  t.equal(written[0]?.[0], "web");
  turn();
  t.equal(written.length, 11, "nor does everything else for the text of all");
  sender.send({ at: 2, put: [["pod/0", pod(0, { state: "updating" })]], gone: [] });
  t.equal(written.length, 11);
  turn();
  turn();
  t.strictSame(written.at(-1), ["pod/0"], "the change is last");
  t.strictSame(
    written.slice(0, -1).flat(),
    put.map(([key]) => key),
  );
});

t.test("what comes while nothing waits is written at once", async (t) => {
  const { sender, written } = start();
  sender.send({ at: 1, put: [["a", workload()]], gone: [] });
  t.strictSame(written, [["a"]]);
  sender.send({ at: 2, put: [["b", workload()]], gone: [] });
  t.strictSame(written, [["a"], ["b"]]);
});
