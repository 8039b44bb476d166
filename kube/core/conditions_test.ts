import t from "tap";
import {
  findCondition,
  formatMicroTime,
  formatTime,
  isConditionTrue,
  notAhead,
  parseTime,
  setCondition,
} from "./index.ts";

const at = Date.UTC(2023, 2, 1, 3, 45, 33, 987);

t.test("times", (t) => {
  t.equal(formatTime(at), "2023-03-01T03:45:33Z");
  t.equal(formatMicroTime(at), "2023-03-01T03:45:33.987000Z");
  t.equal(parseTime("2023-03-01T04:45:33+01:00"), Date.UTC(2023, 2, 1, 3, 45, 33));
  t.throws(() => parseTime("yesterday"), { code: "InvalidTime" });
  t.throws(() => parseTime("2023-13-01T04:45:33Z"), { code: "InvalidTime" });
  t.end();
});

t.test("a time that lies ahead becomes the present one", async (t) => {
  t.equal(notAhead("2024-03-01T03:45:33Z", at), "2023-03-01T03:45:33Z");
  for (const text of ["2023-03-01T03:45:33.987Z", "2022-03-01T03:45:33Z", "tomorrow", undefined, null])
    t.equal(notAhead(text, at), text);
});

t.test("the transition time moves with the status only", (t) => {
  const first = setCondition(undefined, { type: "Ready", status: "False", reason: "A" }, at);
  t.same(first, [
    { type: "Ready", status: "False", reason: "A", lastTransitionTime: "2023-03-01T03:45:33Z" },
  ]);
  const second = setCondition(first, { type: "Ready", status: "False", reason: "B" }, at + 60_000);
  t.equal(findCondition(second, "Ready")?.lastTransitionTime, "2023-03-01T03:45:33Z");
  t.equal(findCondition(second, "Ready")?.reason, "B");
  const third = setCondition(second, { type: "Ready", status: "True" }, at + 60_000);
  t.equal(findCondition(third, "Ready")?.lastTransitionTime, "2023-03-01T03:46:33Z");
  t.equal(isConditionTrue(third, "Ready"), true);
  t.equal(
    setCondition(third, { type: "Ready", status: "True" }, at + 120_000),
    third,
    "nothing new, same list",
  );
  t.end();
});
