/** Figures over the sizes of runs: a line a manager and phase, a point a size. Pure. */
import type { Plot, PlotPoint, PlotSeries } from "../../cli/ui/plots/index.ts";
import type { Phase, Run } from "../measure/result.ts";
import { hueOf } from "./hues.ts";

interface Curve {
  readonly title: string;
  readonly unit: string;
  readonly digits: number;
  of(phase: Phase): number | undefined;
}

const curves: readonly Curve[] = [
  { title: "change to last pod arrived", unit: "s", digits: 2, of: ({ tookMs }) => tookMs / 1000 },
  {
    title: "requests a pod",
    unit: "requests",
    digits: 2,
    of: ({ requests }) => (requests.source === "none" ? undefined : requests.perPod),
  },
  { title: "manager CPU a pod", unit: "ms", digits: 2, of: ({ cpuMsPerPod }) => cpuMsPerPod },
  { title: "manager's memory at its peak", unit: "MB", digits: 0, of: ({ residentMb }) => residentMb?.peak },
];

/** Of one scenario; none where it ran at one size alone. Runs of one size are averaged. */
export function sizePlots(runs: readonly Run[], scenario: string): Plot[] {
  const some = runs.filter((run) => run.scenario === scenario);
  const sizes = [...new Set(some.map(({ pods }) => pods))].sort((a, b) => a - b);
  const [from, to] = [sizes[0], sizes.at(-1)];
  if (from === undefined || to === undefined || from === to) return [];
  return curves.flatMap((curve) => {
    const series = linesOf(some, sizes, curve);
    if (series.length === 0) return [];
    return {
      title: `${scenario}: ${curve.title}`,
      x: { label: "size", from, to, form: "log", unit: "pods", digits: 0, ticks: sizes },
      left: { label: unitWords[curve.unit] ?? curve.unit, most: 0, isWhole: false },
      series,
    };
  });
}

const unitWords: Readonly<Record<string, string>> = { s: "seconds", ms: "milliseconds" };

function linesOf(runs: readonly Run[], sizes: readonly number[], curve: Curve): PlotSeries[] {
  const labels = [...new Set(runs.map(({ label }) => label))];
  const names = [...new Set(runs.flatMap(({ phases }) => phases.map(({ name }) => name)))];
  const lines = labels.flatMap((label) => names.map((name) => ({ label, name })));
  const series = lines.map(({ label, name }, index): PlotSeries => {
    const own = runs.filter((run) => run.label === label);
    const points = sizes.flatMap((pods): PlotPoint[] => {
      const value = meanOf(own, pods, name, curve);
      return value === undefined ? [] : [[pods, value]];
    });
    const { unit, digits } = curve;
    return {
      label: labels.length > 1 ? `${label}: ${name}` : name,
      form: "dots",
      hue: hueOf(index),
      unit,
      digits,
      points,
    };
  });
  return series.filter(({ points }) => points.length > 0);
}

function meanOf(runs: readonly Run[], pods: number, name: string, curve: Curve): number | undefined {
  const phases = runs.filter((run) => run.pods === pods).flatMap((run) => run.phases);
  const values = phases.flatMap((phase) => (phase.name === name ? (curve.of(phase) ?? []) : []));
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
}
