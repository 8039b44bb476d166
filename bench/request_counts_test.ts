import t from "tap";
import { difference, parseRequestCounts } from "./request_counts.ts";

t.test("counts of this project and of client-go", async (t) => {
  const ours = `rest_client_requests_total{code="200",method="PATCH",host="h"} 7
refit_client_requests_total{verb="PATCH",resource="pods/status",code="200"} 4
refit_client_requests_total{verb="PATCH",resource="pods/status",code="409"} 1
refit_client_requests_total{verb="POST",resource="pods",code="201"} 2`;
  t.same(parseRequestCounts(ours), { "PATCH pods/status": 5, "POST pods": 2 });
  const go = `# HELP x\nrest_client_requests_total{code="200",host="127.0.0.1:6443",method="PUT"} 7`;
  t.same(parseRequestCounts(go), { PUT: 7 });
  t.same(difference({ a: 3, b: 1 }, { a: 1, b: 1 }), { a: 2 });
});
