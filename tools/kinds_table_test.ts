import t from "tap";
import { compatibility, withKindsTable } from "./kinds_table.ts";

t.test("docs/compatibility.md has the table that the list of kinds gives", async (t) => {
  const document = compatibility();
  t.equal(document, withKindsTable(document), "node tools/kinds_table.ts writes it");
});
