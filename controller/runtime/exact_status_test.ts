import t from "tap";
import { exactStatus } from "./exact_status.ts";

const key = "default/budget";
const planned = {
  metadata: { name: "budget", uid: "1", generation: 3, resourceVersion: "10" },
  status: { allowed: 5, spent: 0 },
};
const statusOf = ({ status }: typeof planned) => ({ ...status, allowed: 5 - status.spent });
const actionAt = (newest: typeof planned | undefined) =>
  exactStatus({ get: () => newest }, key, planned, { allowed: 4, spent: 0 }, statusOf);
const changed = (metadata: object) => ({
  metadata: { ...planned.metadata, resourceVersion: "11", ...metadata },
  status: { allowed: 5, spent: 2 },
});

t.test("an object that stays takes the status of its plan", async (t) => {
  const { status, exact, renewed } = actionAt(planned);
  t.same(status, { allowed: 4 });
  t.equal(exact, true);
  t.equal(renewed?.(), undefined);
});

t.test("what others wrote to the status since is kept and counted", async (t) => {
  t.same(actionAt(changed({})).renewed?.(), { resourceVersion: "11", status: { allowed: 3 } });
});

t.test("another spec, another object of the name, and none need another plan", async (t) => {
  for (const newest of [changed({ generation: 4 }), changed({ uid: "2" }), undefined])
    t.equal(actionAt(newest).renewed?.(), undefined);
});
