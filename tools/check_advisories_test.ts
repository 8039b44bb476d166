import t from "tap";
import { findingOf } from "./check_advisories.ts";

const report = (vulnerabilities: object) =>
  JSON.stringify({ auditReportVersion: 2, metadata: { vulnerabilities } });

t.test("known vulnerabilities fail, with how many of which severity", async (t) => {
  const { code, line } = findingOf(report({ info: 0, low: 1, high: 2, total: 3 }), false);
  t.equal(code, 1);
  t.match(line, /1 low, 2 high; `npm audit --omit=dev` names them/);
  for (const isRequired of [false, true])
    t.match(findingOf(report({ low: 0, total: 0 }), isRequired), { code: 0, line: /none is known/ });
});

t.test(
  "a registry that cannot be asked is said, and a failure only where an answer is required",
  async (t) => {
    const refused = JSON.stringify({ message: "405 Method Not Allowed", error: { summary: "" } });
    const line = /no data, nothing was checked \(405 Method Not Allowed\)/;
    t.match(findingOf(refused, false), { code: 0, line });
    t.match(findingOf(refused, true), { code: 1, line });
    for (const answer of ["", "{}", "[]", "null"]) {
      t.match(findingOf(answer, false), { code: 0, line: /no data/ });
      t.match(findingOf(answer, true), { code: 1, line: /no data/ });
    }
  },
);
