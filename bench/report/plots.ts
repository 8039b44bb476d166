/** What a result page plots of runs, as data. Pure. */
import type { Plot, PlotGroup, PlotHue, PlotPoint, PlotSeries, PodState } from "../../cli/ui/plots/index.ts";
import { podStates } from "../measure/pod_state.ts";
import type { Phase, Run } from "../measure/result.ts";
import { hueOf } from "./hues.ts";
import { sizePlots } from "./size_plots.ts";

/** Ids of the elements that plots are drawn into. */
export const sizesPlace = (index: number): string => `plots-sizes-${index}`;
export const runPlace = (run: number): string => `plots-run-${run}`;
export const phasePlace = (run: number, phase: number): string => `plots-run-${run}-phase-${phase}`;

export function plotGroups(runs: readonly Run[]): PlotGroup[] {
  const scenarios = [...new Set(runs.map(({ scenario }) => scenario))];
  const groups = [
    ...scenarios.map((scenario, index) => group(sizesPlace(index), sizePlots(runs, scenario))),
    ...runs.flatMap((run, at) => [
      group(runPlace(at), arrivals(run)),
      ...run.phases.map((phase, index) => group(phasePlace(at, index), phasePlots(phase))),
    ]),
  ];
  return groups.filter(({ plots }) => plots.length > 0);
}

function group(place: string, plots: readonly Plot[]): PlotGroup {
  const hasGrid = plots[0]?.series.some(({ state }) => state !== undefined) === true;
  return { place, plots, hasGrid };
}

const inPods = { unit: "pods", digits: 0 } as const;
const pods = { label: "pods", most: 1, isWhole: true } as const;

function sinceChangeUntil(to: number): Plot["x"] {
  return { label: "seconds since the change", from: 0, to, form: "linear", unit: "s", digits: 2 };
}

function sinceChange({ series: { atMs }, tookMs }: Phase): Plot["x"] {
  return sinceChangeUntil(Math.max(tookMs, atMs.at(-1) ?? 0) / 1000);
}

/** Share of the pods that had arrived after so long, all phases in one. */
function arrivals({ phases }: Run): Plot[] {
  const arrived = phases.filter(({ readyMs }) => readyMs.length > 0);
  if (arrived.length === 0) return [];
  const last = Math.max(...arrived.map(({ readyMs }) => readyMs.at(-1) ?? 0)) / 1000;
  return [
    {
      title: "Pods that have arrived, by the time since the change",
      x: sinceChangeUntil(last),
      left: { label: "% of the pods", most: 100, isWhole: true },
      series: arrived.map(({ name, readyMs }, index) => ({
        label: name,
        form: "step",
        hue: hueOf(index),
        unit: "%",
        digits: 0,
        points: [
          [0, 0],
          ...readyMs.map((ms, at): PlotPoint => [ms / 1000, ((at + 1) / readyMs.length) * 100]),
        ],
      })),
    },
  ];
}

function phasePlots(phase: Phase): Plot[] {
  return [...states(phase), ...unavailability(phase), ...memory(phase)];
}

/** `values` by the samples of a phase; those that are not known are left out. */
function sampled({ series: { atMs } }: Phase, values: readonly (number | null)[]): PlotPoint[] {
  return atMs.flatMap((ms, index): PlotPoint[] => {
    const value = values[index];
    return value === null || value === undefined ? [] : [[ms / 1000, value]];
  });
}

interface Band {
  readonly label: string;
  readonly hue: PlotHue;
  /** As the grid draws it. */
  readonly state: PodState;
  readonly counts: readonly number[];
}

const looks: Readonly<Record<(typeof podStates)[number], Pick<Band, "hue" | "state">>> = {
  ready: { hue: 2, state: "ready" },
  updating: { hue: 0, state: "updating" },
  starting: { hue: 1, state: "starting" },
  pending: { hue: "faint", state: "pending" },
  terminating: { hue: 4, state: "terminating" },
  finished: { hue: 3, state: "ready" },
};

/** From the bottom up. A phase with a new revision has its ready pods at the bottom and the former ones on top. */
function bandsOf({ series }: Phase): Band[] {
  const { readyAtNew } = series;
  const all = podStates.map((state) => ({ label: state, counts: series.pods[state] ?? [], ...looks[state] }));
  const [ready, ...others] = all;
  if (readyAtNew === undefined || ready === undefined) return all;
  const former = ready.counts.map((count, at) => count - (readyAtNew[at] ?? 0));
  return [
    { ...ready, label: "ready, new revision", counts: readyAtNew },
    ...others,
    { ...ready, label: "ready, old revision", hue: 5, counts: former },
  ];
}

function states(phase: Phase): Plot[] {
  const shown = bandsOf(phase).filter(({ counts }) => counts.some((count) => count > 0));
  if (shown.length === 0) return [];
  const series = shown.map(
    ({ label, hue, state, counts }): PlotSeries => ({
      label,
      form: "area",
      hue,
      state,
      points: sampled(phase, counts),
      ...inPods,
    }),
  );
  const title = `Pods by state${phase.series.readyAtNew === undefined ? "" : " and revision"}`;
  return [{ title, x: sinceChange(phase), left: pods, series }];
}

/** What is out of service, and how much may be, of all workloads together. */
function unavailability(phase: Phase): Plot[] {
  const { budget, series } = phase;
  if (series.unavailable === undefined || budget?.maxUnavailable === undefined) return [];
  const allowed = budget.maxUnavailable * budget.workloads;
  return [
    {
      title: "Pods out of service",
      x: sinceChange(phase),
      left: pods,
      series: [
        {
          label: "out of service",
          form: "step",
          hue: 0,
          points: sampled(phase, series.unavailable),
          ...inPods,
        },
        { label: "budget", form: "limit", hue: 4, points: [[0, allowed]], ...inPods },
      ],
    },
  ];
}

function memory(phase: Phase): Plot[] {
  const resident = sampled(phase, phase.series.residentMb);
  const depth = sampled(phase, phase.series.queueDepth);
  if (resident.length === 0 && depth.length === 0) return [];
  const queue: PlotSeries = {
    label: "queue",
    form: "line",
    hue: 4,
    unit: "keys",
    digits: 0,
    points: depth,
    isRight: true,
  };
  const plot: Plot = {
    title: "Manager's memory",
    x: sinceChange(phase),
    left: { label: "MB resident", most: 1, isWhole: true },
    series: [{ label: "memory", form: "line", hue: 0, unit: "MB", digits: 0, points: resident }],
  };
  if (depth.length === 0) return [plot];
  return [
    {
      ...plot,
      title: "Manager's memory and queue depth",
      right: { label: "keys in the queue", most: 4, isWhole: true },
      series: [...plot.series, queue],
    },
  ];
}
