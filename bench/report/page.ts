/** Results as one HTML page that needs nothing else: figures as tables, with the grid and the plots of the live page. */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { plotsDocument, escaped as text } from "../../cli/ui/plots/index.ts";
import type { ComparedPhase } from "../compare.ts";
import type { ResultFile, Run, Soak } from "../measure/result.ts";
import { scenarios } from "../scenarios/all.ts";
import { comparisonHead, comparisonRow, comparisonTitle } from "./comparison_table.ts";
import { podsPerSecond } from "./figures.ts";
import { phasePlace, plotGroups, runPlace, sizesPlace } from "./plots.ts";
import { figureTable, HEAD, limitRows, notServedText, soakRows, soakTitle, titleOf } from "./table.ts";
import { amount, duration, megabytes, perSecond } from "./words.ts";

export async function resultPage(
  files: readonly ResultFile[],
  compared: readonly ComparedPhase[] = [],
): Promise<string> {
  const runs = files.flatMap((file) => file.runs);
  const title = pageTitle(runs, compared.length > 0);
  const groups = plotGroups(runs);
  const places = new Set(groups.map(({ place }) => place));
  return plotsDocument({
    title: `Bench: ${title}`,
    style: await readFile(join(import.meta.dirname, "page_style.css"), "utf8"),
    groups,
    nonce: randomBytes(18).toString("base64url"),
    body: `<header class="results">
<h1>${text(title)}</h1>
${summariesOf(runs)
  .map((line) => `<p>${text(line)}</p>`)
  .join("\n")}
${[...new Set(files.map(originOf))].map((line) => `<p class="origin">${text(line)}</p>`).join("\n")}
</header>
<main class="results">
${comparisonSection(compared)}
${sizesSection(runs, places)}
${runs.map((run, index) => runSection(run, index, runs, places)).join("\n")}
</main>`,
  });
}

function sizesSection(runs: readonly Run[], places: ReadonlySet<string>): string {
  const scenarios = new Set(runs.map(({ scenario }) => scenario));
  const plots = [...scenarios].map((_, index) => plotsAt(sizesPlace(index), places)).join("");
  return plots === "" ? "" : `<section><h2>Over sizes</h2>${plots}</section>`;
}

/** Where a group of plots is drawn; nothing where there are none. */
function plotsAt(place: string, places: ReadonlySet<string>): string {
  return places.has(place) ? `<div class="plots" id="${place}"></div>` : "";
}

/** `rollout of 300 and 1000 pods: refit, other`: what ran, how large, and who was measured. */
function pageTitle(runs: readonly Run[], isComparison: boolean): string {
  const different = (of: (run: Run) => string): string => [...new Set(runs.map(of))].join(", ");
  const sizes = [...new Set(runs.map((run) => run.pods))].sort((a, b) => a - b);
  const size = sizes.length === 1 ? amount(sizes[0] ?? 0, "pods") : `${sizes.join(" and ")} pods`;
  const what = `${different(({ scenario }) => scenario)} of ${size}: ${different(({ label }) => label)}`;
  return isComparison ? `${what}, compared` : what;
}

/** What the scenarios do; those of results that another version wrote may be unknown. */
function summariesOf(runs: readonly Run[]): string[] {
  const names = new Set(runs.map((run) => run.scenario));
  const known = scenarios.filter(({ name }) => names.has(name));
  return known.map(({ name, summary }) => `${name}: ${summary}`);
}

function originOf({ tool, machine }: ResultFile): string {
  const { cpus, memoryGb, system, node } = machine;
  return `refit ${tool.version} (${tool.commit}), ${cpus} cores, ${memoryGb} GiB, ${system}, Node ${node}`;
}

function runSection(run: Run, index: number, runs: readonly Run[], places: ReadonlySet<string>): string {
  const title = `${titleOf(run)}${roundOf(run, runs)}`;
  const figures = figureTable(run);
  const missing = notServedText(figures);
  const head = [HEAD, ...run.phases.map((phase) => phase.name)];
  const examples = run.phases.flatMap((phase) => phase.budget?.examples ?? []);
  return `<section>
<h2>${text(title)}</h2>
<p class="origin">${text([startOf(run), ...Object.entries(run.settings).map(settingText)].join(" · "))}</p>
${examples.length > 0 ? `<p class="alarm">Budget violated: ${text(examples.join("; "))}</p>` : ""}
<div class="tiles">${run.phases.map(tile).join("")}</div>
${plotsAt(runPlace(index), places)}
${run.phases.map(({ name }, phase) => phasePlots(name, plotsAt(phasePlace(index, phase), places))).join("\n")}
${run.phases.length > 0 ? table("figures", `Figures of ${title}`, head, figures.rows) : ""}
${missing === undefined ? "" : `<p class="origin">${text(missing)}</p>`}
${run.limit === undefined ? "" : `<h3>Limit: a bare loop of pod patches</h3>${table("limit", `Limit of ${title}`, limitRows(run.limit)[0] ?? [], limitRows(run.limit).slice(1))}`}
${run.soak === undefined ? "" : soakSection(run.soak, title)}
</section>`;
}

function soakSection(soak: Soak, title: string): string {
  const [head = [], ...rows] = soakRows(soak);
  const faults = soak.faults.map((fault) => `<p class="alarm">${text(fault)}</p>`);
  return `<h3>${text(soakTitle(soak))}</h3>${faults.join("")}${table("soak", `Levels of ${title}`, head, rows)}`;
}

const phasePlots = (name: string, plots: string): string =>
  plots === "" ? "" : `<h3>${text(name)}</h3>${plots}`;

/** Which of several equal runs it is. */
function roundOf(run: Run, runs: readonly Run[]): string {
  const equal = runs.filter((other) => titleOf(other) === titleOf(run));
  return equal.length === 1 ? "" : `, run ${equal.indexOf(run) + 1} of ${equal.length}`;
}

function startOf({ startedAt }: Run): string {
  return `${startedAt.replace("T", " ").slice(0, 19)} UTC`;
}

const settingUnits: Readonly<Record<string, string>> = {
  start: "ms",
  pull: "ms",
  ready: "ms",
  latency: "ms",
  minutes: "minutes",
  size: "pods",
  namespaces: "namespaces",
  "max-unavailable": "pods",
  "in-flight": "requests",
  "sidecar-sets": "SidecarSets",
};

function settingText([name, value]: readonly [string, string]): string {
  const unit = value.endsWith("%") ? undefined : settingUnits[name];
  return unit === undefined ? `${name} ${value}` : `${name} ${value} ${unit}`;
}

function tile(phase: Run["phases"][number]): string {
  const { name, tookMs, requests, residentMb, budget } = phase;
  const violations = budget?.violations ?? 0;
  const facts = [
    perSecond(podsPerSecond(phase), "pods"),
    ...(requests.source === "none" ? [] : [`${amount(requests.perPod, "requests")} a pod`]),
    ...(residentMb === undefined ? [] : [`${megabytes(residentMb.peak)} at the peak`]),
    ...(budget === undefined ? [] : [amount(violations, "budget violations")]),
  ];
  return `<div class="measured${violations > 0 ? " violated" : ""}"><h3>${text(name)}</h3><strong>${text(duration(tookMs))}</strong><ul>${facts.map((fact) => `<li>${text(fact)}</li>`).join("")}</ul></div>`;
}

function comparisonSection(compared: readonly ComparedPhase[]): string {
  if (compared.length === 0) return "";
  const parts = compared.map(
    (each) =>
      `<h3>${text(comparisonTitle(each))}</h3>${table("comparison", comparisonTitle(each), comparisonHead, each.figures.map(comparisonRow))}`,
  );
  return `<section><h2>Comparison</h2>${parts.join("\n")}</section>`;
}

function table(
  kind: string,
  label: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const cells = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column === 0 ? `<th scope="row">${text(cell)}</th>` : `<td>${text(cell)}</td>`))
      .join("");
  const first = head.map((cell) => `<th scope="col">${text(cell)}</th>`).join("");
  const indented = (row: readonly string[]): string =>
    row[0]?.startsWith("  ") === true ? ' class="part"' : "";
  // Reached by the keyboard: on a narrow screen it is wider than its place.
  return `<div class="scroll" role="region" aria-label="${text(label)}" tabindex="0"><table class="${kind}"><thead><tr>${first}</tr></thead><tbody>${rows
    .map((row) => `<tr${indented(row)}>${cells(row)}</tr>`)
    .join("")}</tbody></table></div>`;
}
