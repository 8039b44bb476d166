/** Colours of lines that stand beside each other. */
import type { PlotHue } from "../../cli/ui/plots/index.ts";

const hues: readonly PlotHue[] = [0, 1, 2, 4, 3, 5];

/** In the order of the lines. */
export const hueOf = (index: number): PlotHue => hues[index % hues.length] ?? 0;
