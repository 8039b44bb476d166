import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { parse, stringify } from "yaml";
import { observe, refusalCounters } from "../cli/controller/metrics.ts";
import { missing, programPath } from "../testkit/cli/program_path.ts";
import { dashboardText, expressions, madeText } from "./dashboard.ts";
import {
  agentMetrics,
  controllerMetrics,
  metricsDocument,
  withMetricsTables,
  workloadMetrics,
} from "./metrics_table.ts";

const folder = join(import.meta.dirname, "../bundles/monitoring");
const rulesFile = join(folder, "rules.yaml");
const rules: unknown = parse(readFileSync(rulesFile, "utf8"));

/** Every value of a field, however deep. */
function valuesOf(tree: unknown, field: string): string[] {
  if (typeof tree !== "object" || tree === null) return [];
  return Object.entries(tree).flatMap(([name, value]) =>
    name === field && typeof value === "string" ? [value] : valuesOf(value, field),
  );
}

/** In our expressions every metric is followed by its selector. */
function metricsIn(expression: string): string[] {
  return [...expression.matchAll(/([a-z_]+)\{/g)].map(([, name = ""]) => name.replace(/_bucket$/, ""));
}

t.test("docs/metrics.md lists what the code registers", async (t) => {
  const document = metricsDocument();
  t.equal(document, withMetricsTables(document), "node tools/metrics_table.ts writes it");
});

t.test("the dashboard is made of its panels", async (t) => {
  t.equal(dashboardText(), madeText(), "node tools/dashboard.ts writes it");
});

t.test("alerts and dashboard ask for metrics that there are", async (t) => {
  const known = new Set(
    [...controllerMetrics(), ...workloadMetrics(), ...agentMetrics()].map(({ name }) => name),
  );
  for (const expression of [...expressions, ...valuesOf(rules, "expr")]) {
    const asked = metricsIn(expression);
    t.ok(asked.length > 0, expression);
    t.strictSame(
      asked.filter((name) => !known.has(name)),
      [],
      expression,
    );
  }
});

t.test("what the text of docs/metrics.md says to watch is served", async (t) => {
  const known = new Set(workloadMetrics().map(({ name }) => name));
  const [prose = ""] = metricsDocument().split("<!-- metrics -->");
  const named = [...prose.matchAll(/\b(?:kruise|refit)_[a-z]+_[a-z_]+\b/g)].map(([name]) => name);
  t.ok(named.includes("kruise_daemonset_status_number_unavailable"));
  t.strictSame(
    named.filter((name) => !known.has(name)),
    [],
  );
});

t.test("each alert says what is wrong and what to look at", async (t) => {
  const alerts = valuesOf(rules, "alert");
  t.equal(new Set(alerts).size, alerts.length);
  for (const field of ["summary", "description", "severity"])
    t.equal(valuesOf(rules, field).length, alerts.length, field);
  for (const severity of valuesOf(rules, "severity")) t.match(severity, /^(critical|warning|info)$/);
});

t.test("promtool", { skip: missing("promtool") }, async (t) => {
  const promtool = (t: Test, ...args: string[]) =>
    promisify(execFile)(programPath("promtool") ?? "", args, { cwd: folder }).then(
      () => t.pass(args.join(" ")),
      (error: Error & { stdout?: string }) => t.fail(`${args.join(" ")}: ${error.stdout}${error.message}`),
    );
  await promtool(t, "check", "rules", rulesFile);
  await promtool(t, "test", "rules", join(folder, "rules.test.yaml"));
  // As rules, so that their syntax is checked, with the variables of Grafana filled in.
  const records = expressions.map((expression, index) => ({
    record: `panel:${index}`,
    expr: expression.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*"),
  }));
  const panels = join(t.testdir(), "panels.yaml");
  writeFileSync(panels, stringify({ groups: [{ name: "panels", rules: records }] }));
  await promtool(t, "check", "rules", panels);
});

t.test("what is served reads as the Prometheus format", { skip: missing("promtool") }, async (t) => {
  const { registry, metrics } = observe();
  refusalCounters(registry);
  metrics.reconcileStarted("a");
  metrics.reconcileFinished("a", "success", 5);
  const child = execFile(programPath("promtool") ?? "", ["check", "metrics"]);
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  child.stdin?.end(await registry.metrics());
  await new Promise((resolve) => child.once("close", resolve));
  const accepted =
    /^(pod_unavailable_budget|(namespace|crd|workload)_deletion_protection) counter metrics should have "_total" suffix$/;
  t.strictSame(
    said.split("\n").filter((line) => line !== "" && !accepted.test(line)),
    [],
    "names of the reference apart",
  );
});
