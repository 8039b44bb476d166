import t from "tap";
import { afterProbe, type ProbeRecord, shortened } from "./result.ts";

t.test("a new container starts at Unknown", async (t) => {
  const thresholds = { failureThreshold: 1, successThreshold: 2 };
  let record: ProbeRecord | undefined;
  const step = (id: string, state: "Succeeded" | "Failed") => {
    const after = afterProbe(record, id, { state, message: "m" }, thresholds, 1000);
    record = after.record;
    return `${after.record.state} ${after.publish}`;
  };
  t.equal(step("c1", "Succeeded"), "Unknown false");
  t.equal(step("c1", "Succeeded"), "Succeeded true");
  t.equal(step("c1", "Succeeded"), "Succeeded false");
  t.equal(step("c2", "Succeeded"), "Unknown true");
  t.equal(step("c2", "Failed"), "Failed true");
});

t.test("messages are cut to whole characters", async (t) => {
  t.equal(shortened(`${"a".repeat(1023)}😀`).length, 1023);
  t.equal(shortened("short"), "short");
});
