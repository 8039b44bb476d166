import t from "tap";
import { budgetOf } from "./numbers.ts";

t.test("budgets are rounded down and at least one", async (t) => {
  t.equal(budgetOf(undefined, 10), 1);
  t.equal(budgetOf("40%", 5), 2);
  t.equal(budgetOf("1%", 5), 1);
  t.equal(budgetOf(7, 5), 7);
  t.equal(budgetOf(0, 5), 1);
  t.equal(budgetOf("5", 5), 1);
});
