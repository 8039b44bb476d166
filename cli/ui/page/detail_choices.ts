/** What of the view of a workload is chosen, and not told by the server. */
import type { PlotChoice } from "./plot.ts";
import type { Grouping } from "./pod_groups.ts";

/** What the person at the page chose. */
export interface DetailChoices {
  /** Shared by all workloads of the page. */
  readonly order: { grouping: Grouping };
  /** Code of the reason whose pods are pointed out. */
  reason: string | undefined;
  isTableOpen: boolean;
  /** What is pointed at in the plot of the budget. */
  readonly budget: PlotChoice;
  /** Numbers of the revisions' colours, in the order in which they were seen. */
  readonly colours: Map<string, number>;
}
