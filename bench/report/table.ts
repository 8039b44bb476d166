/** Results on a terminal: a table a run. */
import type { Limit, Run, Soak } from "../measure/result.ts";
import { type Figure, figuresOf } from "./figures.ts";
import { amount, duration, number, perSecond } from "./words.ts";

/** Above the names of figures: how the clocks below are to be read. */
export const HEAD = "clocks: p50 / p90 / p99 / max";

/** Rows of cells as lines; the first column to the left, the others to the right. */
export function alignTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join("  ")
      .trimEnd();
  return rows.map(line).join("\n");
}

export function titleOf({ scenario, pods, nodes, seed, label, server }: Run): string {
  const where = `Kubernetes ${server.version}${server.sandbox && !server.version.endsWith("-sandbox") ? ", sandbox" : ""}`;
  const size = `${amount(pods, "pods")} on ${amount(nodes, "hollow nodes")}`;
  return `${scenario}: ${size}, seed ${seed}; ${label}; ${where}`;
}

export interface FigureTable {
  /** Name and one cell a phase; a figure that only some phases have stands where it stands there. */
  readonly rows: readonly string[][];
  /** Names of figures that no phase has. */
  readonly notServed: readonly string[];
}

export function figureTable(run: Run): FigureTable {
  const phases = run.phases.map((phase) => figuresOf(phase, run.limit));
  const order: Figure[] = [];
  for (const figures of phases) {
    let at = 0;
    for (const figure of figures) {
      const known = order.findIndex(({ key }) => key === figure.key);
      if (known < 0) order.splice(at, 0, figure);
      at = known < 0 ? at + 1 : known + 1;
    }
  }
  const rows: string[][] = [];
  const notServed: string[] = [];
  for (const { key, name } of order) {
    const cells = phases.map((figures) => figures.find((figure) => figure.key === key)?.text);
    if (cells.every((cell) => cell === undefined)) notServed.push(name);
    else rows.push([name, ...cells.map((cell) => cell ?? "–")]);
  }
  return { rows, notServed };
}

/** Said once below the figures; undefined where all are there. */
export function notServedText({ notServed }: FigureTable): string | undefined {
  return notServed.length === 0 ? undefined : `not served by this manager: ${notServed.join(", ")}`;
}

export function tableOf(run: Run): string {
  const parts = [titleOf(run)];
  if (run.phases.length > 0) {
    const figures = figureTable(run);
    parts.push(alignTable([[HEAD, ...run.phases.map((phase) => phase.name)], ...figures.rows]));
    const missing = notServedText(figures);
    if (missing !== undefined) parts.push(missing);
  }
  if (run.limit !== undefined)
    parts.push(`limit: a bare loop of pod patches\n${alignTable(limitRows(run.limit))}`);
  if (run.soak !== undefined)
    parts.push(soakTitle(run.soak), alignTable(soakRows(run.soak)), ...run.soak.faults);
  const examples = run.phases.flatMap((phase) => phase.budget?.examples ?? []);
  if (examples.length > 0) parts.push(`BUDGET VIOLATED\n${examples.map((each) => `  ${each}`).join("\n")}`);
  return parts.join("\n\n");
}

export function limitRows({ rates }: Limit): string[][] {
  return [
    ["patch", "in flight", "done", "p50", "p99"],
    ...rates.map(({ patch, inFlight, perSecond: rate, p50, p99 }) => [
      patch,
      amount(inFlight, "requests"),
      perSecond(rate, "writes"),
      duration(p50),
      duration(p99),
    ]),
  ];
}

export function soakTitle({ minutes, rounds, workloads, podsMade }: Soak): string {
  const made = `${amount(workloads, "workloads")} and ${amount(podsMade, "pods")} came and went`;
  return `soak: ${number(minutes)} minutes, ${amount(rounds, "rounds")}; ${made}`;
}

/** The first row is the head. */
export function soakRows({ levels }: Soak): string[][] {
  const signed = (value: number): string => `${value < 0 ? "−" : "+"}${number(Math.abs(value))}`;
  return [
    ["after each round", "first", "last", "growth", "allowed", "an hour", ""],
    ...levels.map(({ name, unit, first, last, growth, uncertain, anHour, allowed, isSteady }) => [
      unit === "" ? name : `${name}, ${unit}`,
      number(first),
      number(last),
      `${signed(growth)} ± ${number(uncertain)}`,
      number(allowed),
      signed(anHour),
      isSteady ? "level" : "NOT LEVEL",
    ]),
  ];
}
