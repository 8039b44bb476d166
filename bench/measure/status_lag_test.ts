import t from "tap";
import { StatusLag } from "./status_lag.ts";

t.test("a status reports the newest moment that it is true of, and of all before", async (t) => {
  let now = 0;
  const lag = new StatusLag(() => now);
  const at = (ms: number, run: () => void): void => {
    now = ms;
    run();
  };
  at(0, () => lag.podsAre([1, 0]));
  at(10, () => lag.podsAre([2, 0]));
  at(10, () => lag.podsAre([2, 0]));
  at(30, () => lag.podsAre([2, 1]));
  at(40, () => lag.statusIs([2, 0]));
  t.match(lag.facts(), { "changes of counts": 2, "longest status lag, ms": 40, "changes never reported": 1 });
  at(55, () => lag.statusIs([2, 1]));
  at(60, () => lag.statusIs([2, 2]));
  t.match(lag.facts(), { "changes of counts": 1, "longest status lag, ms": 25, "writes of the status": 2 });
  at(70, () => lag.podsAre([2, 2]));
  t.match(lag.facts(), { "changes of counts": 1, "longest status lag, ms": 0 }, "its watch was faster");
});
