import t from "tap";
import { findingOf } from "./check_advisories.ts";

const report = (vulnerabilities: object) =>
  JSON.stringify({ auditReportVersion: 2, metadata: { vulnerabilities } });

t.test("known vulnerabilities fail, with how many of which severity", async (t) => {
  const { code, line } = findingOf(report({ info: 0, low: 1, high: 2, total: 3 }));
  t.equal(code, 1);
  t.match(line, /1 low, 2 high; `npm audit --omit=dev` names them/);
  t.match(findingOf(report({ low: 0, total: 0 })), { code: 0, line: /none is known/ });
});

t.test("a registry that cannot be asked is said, and no failure", async (t) => {
  const refused = JSON.stringify({ message: "405 Method Not Allowed", error: { summary: "" } });
  t.match(findingOf(refused), { code: 0, line: /no data, nothing was checked \(405 Method Not Allowed\)/ });
  for (const answer of ["", "{}"]) t.match(findingOf(answer), { code: 0, line: /no data/ });
});
