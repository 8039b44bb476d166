import t from "tap";
import { budgetText } from "./budget_text.ts";

t.test("only what uses the budget up is counted against it", async (t) => {
  t.equal(budgetText(0, 0, 0), "maxUnavailable is 0");
  t.equal(budgetText(1, 1, 0), "maxUnavailable is 1 and 1 pod is unavailable");
  t.equal(budgetText(1, 0, 1), "maxUnavailable is 1 and 1 more pod is taken out now");
  t.equal(
    budgetText(5, 2, 3),
    "maxUnavailable is 5 and 2 pods are unavailable, 3 more pods are taken out now",
  );
});
