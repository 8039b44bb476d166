/** Two sides of results, figure by figure: ratios with bootstrap intervals. Pure. */
import type { Random } from "../kube/index.ts";
import type { Phase, Run } from "./measure/result.ts";
import { bootstrapRatio, mean, type Ratio } from "./measure/statistics.ts";

export interface Compared extends Ratio {
  readonly figure: string;
  readonly unit: Unit;
  /** Means of each side. */
  readonly before: number;
  readonly after: number;
}

export type Unit = "ms" | "bytes" | "MB" | "requests" | "events" | "pod-seconds";

export interface ComparedPhase {
  readonly scenario: string;
  readonly pods: number;
  readonly phase: string;
  /** Runs a side. */
  readonly runs: readonly [before: number, after: number];
  readonly figures: readonly Compared[];
}

interface FigureOf {
  readonly figure: string;
  readonly unit: Unit;
  readonly of: (phase: Phase) => number | undefined;
  /** Worth failing a check for: less is better, and it is no matter of single events. */
  readonly gates: boolean;
}

function grownPerPod({ residentMb, pods }: Phase): number | undefined {
  return residentMb === undefined ? undefined : ((residentMb.peak - residentMb.before) * 2 ** 20) / pods;
}

const figures: readonly FigureOf[] = [
  { figure: "change to last pod arrived", unit: "ms", of: (phase) => phase.tookMs, gates: true },
  { figure: "change to first pod touched", unit: "ms", of: (phase) => phase.firstTouchedMs, gates: false },
  { figure: "change to pod arrived, p50", unit: "ms", of: (phase) => phase.clocks.ready?.p50, gates: false },
  { figure: "change to pod arrived, p99", unit: "ms", of: (phase) => phase.clocks.ready?.p99, gates: false },
  {
    figure: "event to reconcile start, p99",
    unit: "ms",
    of: (phase) => phase.clocks.reaction?.p99,
    gates: false,
  },
  { figure: "reconcile duration, p99", unit: "ms", of: (phase) => phase.clocks.reconcile?.p99, gates: false },
  { figure: "write to acknowledged, p50", unit: "ms", of: (phase) => phase.clocks.write?.p50, gates: false },
  { figure: "write to acknowledged, p99", unit: "ms", of: (phase) => phase.clocks.write?.p99, gates: false },
  {
    figure: "pod out of service, p50",
    unit: "ms",
    of: (phase) => phase.clocks.outOfService?.p50,
    gates: true,
  },
  {
    figure: "pod out of service, p99",
    unit: "ms",
    of: (phase) => phase.clocks.outOfService?.p99,
    gates: false,
  },
  {
    figure: "gate closed to new image, p50",
    unit: "ms",
    of: (phase) => phase.clocks.gateToImage?.p50,
    gates: false,
  },
  {
    figure: "gate closed to new image, p99",
    unit: "ms",
    of: (phase) => phase.clocks.gateToImage?.p99,
    gates: false,
  },
  {
    figure: "pod-seconds out of service",
    unit: "pod-seconds",
    of: ({ budget }) => (budget?.maxUnavailable === undefined ? undefined : budget.podSecondsOut),
    gates: true,
  },
  {
    figure: "requests a pod",
    unit: "requests",
    of: ({ requests }) => (requests.source === "none" ? undefined : requests.perPod),
    gates: true,
  },
  { figure: "bytes a pod", unit: "bytes", of: (phase) => phase.wire?.perPod, gates: true },
  { figure: "watch events a pod", unit: "events", of: (phase) => phase.podEventsPerPod, gates: true },
  { figure: "manager CPU a pod", unit: "ms", of: (phase) => phase.cpuMsPerPod, gates: true },
  { figure: "API server CPU a pod", unit: "ms", of: (phase) => phase.serverCpuMsPerPod, gates: false },
  {
    figure: "manager memory, at the beginning",
    unit: "MB",
    of: (phase) => phase.residentMb?.before,
    gates: true,
  },
  { figure: "manager memory, peak", unit: "MB", of: (phase) => phase.residentMb?.peak, gates: true },
  { figure: "memory grown a pod", unit: "bytes", of: grownPerPod, gates: false },
];

/** Phases that both sides have, of the same scenario and size. */
export function compareRuns(before: readonly Run[], after: readonly Run[], random: Random): ComparedPhase[] {
  const found: ComparedPhase[] = [];
  const right = grouped(after);
  for (const [key, left] of grouped(before)) {
    const others = right.get(key);
    const first = left[0];
    if (others === undefined || first === undefined) continue;
    const pairs = figures.flatMap(({ figure, unit, of }) => {
      const was = valuesOf(left, of);
      const is = valuesOf(others, of);
      if (was.length === 0 || is.length === 0 || mean(was) === 0) return [];
      return [{ figure, unit, before: mean(was), after: mean(is), ...bootstrapRatio(was, is, random) }];
    });
    const { scenario, pods, phase } = first;
    found.push({
      scenario,
      pods,
      phase: phase.name,
      runs: [left.length, others.length],
      figures: pairs,
    });
  }
  return found;
}

interface Placed {
  readonly scenario: string;
  readonly pods: number;
  readonly phase: Phase;
}

function grouped(runs: readonly Run[]): Map<string, Placed[]> {
  const groups = new Map<string, Placed[]>();
  for (const { scenario, pods, phases } of runs)
    for (const phase of phases) {
      const key = JSON.stringify([scenario, pods, phase.name]);
      groups.set(key, [...(groups.get(key) ?? []), { scenario, pods, phase }]);
    }
  return groups;
}

function valuesOf(placed: readonly Placed[], of: FigureOf["of"]): number[] {
  return placed.map(({ phase }) => of(phase)).filter((value) => value !== undefined);
}

export interface Worse extends Compared {
  readonly scenario: string;
  readonly pods: number;
  readonly phase: string;
}

/**
 * Figures that a check fails for: over the threshold (1.25: a quarter more), and not by chance as far as the runs
 * tell, thus with an interval wholly above 1.
 */
export function worseThan(compared: readonly ComparedPhase[], threshold: number): Worse[] {
  const gates = new Set(figures.filter((each) => each.gates).map((each) => each.figure));
  return compared.flatMap(({ scenario, pods, phase, figures: all }) =>
    all
      .filter(({ figure, ratio }) => gates.has(figure) && ratio > threshold)
      .filter(({ interval }) => interval === undefined || interval.low > 1)
      .map((each) => ({ scenario, pods, phase, ...each })),
  );
}
