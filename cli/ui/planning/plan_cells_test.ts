import t from "tap";
import { pod } from "../../../testkit/cli/page_items_builder.ts";
import { planAnswer } from "../../../testkit/cli/plan_answers.ts";
import { isNothingPlanned, planCells } from "../page/plan_cells.ts";

const pods = Array.from({ length: 8 }, (_, number) => pod(number, number === 0 ? { revision: "new" } : {}));

t.test("what changes comes first, in its order; then what waits, then what is as it should be", async (t) => {
  const cells = planCells(pods, planAnswer());
  t.strictSame(
    cells.map(({ pod: { name }, fate, order, group }) => [name, fate, order, group]),
    [
      ["web-1", "in place", 1, "Now"],
      ["web-2", "deleted", 2, "Now"],
      ["web-8", "new", 3, "Now"],
      ["web-9", "new", 4, "Now"],
      ["web-3", "marked", 5, "Now"],
      ["web-6", "awaited", undefined, "Waited for"],
      ["web-7", "old", undefined, "Not yet"],
      ["web-4", "held", undefined, "Held back"],
      ["web-5", "held", undefined, "Held back"],
      ["web-0", "kept", undefined, "As it is"],
    ],
  );
});

t.test("without revisions nothing is old, and pods that the page has not seen are drawn", async (t) => {
  const cells = planCells([], planAnswer({ revision: "" }));
  t.equal(cells.length, 5);
  t.strictSame(
    planCells(pods, planAnswer({ revision: "", pods: [], about: [] })).map(({ fate }) => fate),
    Array.from({ length: 8 }, () => "kept"),
  );
});

t.test("pods of one name in two namespaces are two", async (t) => {
  const twins = [pod(1), pod(1, { namespace: "shop" })];
  const [planned] = planAnswer().pods;
  const cells = planCells(twins, planAnswer({ pods: planned ? [planned] : [], about: [] }));
  t.strictSame(
    cells.map(({ key, fate }) => [key, fate]),
    [
      ["default/web-1", "in place"],
      ["shop/web-1", "old"],
    ],
  );
});

t.test("nothing is planned exactly when every cell is of a pod that stays as it is", async (t) => {
  const pods = [pod(0, { revision: "new" }), pod(1)];
  const plans = [
    planAnswer(),
    ...["new", "old", ""].flatMap((revision) => [
      planAnswer({ revision, pods: [] }),
      planAnswer({ revision, pods: [], about: [] }),
      planAnswer({ revision, pods: [], about: [["InPlace", ["default/web-0"]]] }),
      planAnswer({ revision, pods: [], about: [["InPlace", ["default/other"]]] }),
    ]),
  ];
  for (const plan of plans)
    for (const some of [[], pods, pods.slice(0, 1), pods.slice(1)]) {
      const isKept = planCells(some, plan).every(({ fate }) => fate === "kept");
      t.equal(isNothingPlanned(some, plan), isKept);
    }
});
