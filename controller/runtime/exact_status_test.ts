import t from "tap";
import { exactStatus } from "./exact_status.ts";

t.test("what differs is written on the version of the plan, and may be renewed", async (t) => {
  const renewable = { type: "patch status", exact: true, renewable: true };
  t.same(exactStatus({ status: { allowed: 5, spent: 0 } }, { allowed: 4, spent: 0 }), {
    ...renewable,
    status: { allowed: 4 },
  });
  t.same(exactStatus({}, { allowed: 4 }), { ...renewable, status: { allowed: 4 } });
});
