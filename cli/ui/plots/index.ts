/** The plots of the live page, for documents that are written elsewhere. */
export type { PodState } from "../shared/items.ts";
export type { Plot, PlotGroup, PlotHue, PlotPoint, PlotSeries } from "../shared/plots.ts";
export { escaped, type PlotsDocument, plotsDocument } from "./plots_document.ts";
