import t from "tap";
import { claimantKeys } from "./numbered_names.ts";

t.test("the name of a claim tells which sets may have made it", (t) => {
  const keys = (name: string) => claimantKeys({ namespace: "d", name });
  t.same(keys("data-web-0"), ["d/web"]);
  t.same(keys("data-dir-my-web-12"), ["d/dir-my-web", "d/my-web", "d/web"]);
  t.same([...keys("data"), ...keys("data-web"), ...keys("data-0")], []);
  t.end();
});
