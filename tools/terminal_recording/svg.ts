/** A recording of a terminal as one SVG, which moves by its own style and needs no script. */
import type { Frame, Run, Size } from "./screen.ts";

const cell = { width: 8.4, height: 18, font: 14 };
const margin = 16;
/** Of the last frame, before it begins again. */
const lastMs = 4_000;

const background = "#10151c";
const foreground = "#d7dee8";
/** The 16 of a terminal, on a dark ground, each with a contrast of more than 4.5. */
const colours = [
  ["#7d8794", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#d7dee8"],
  ["#9aa4b1", "#ffa198", "#a5f0ad", "#f2cc60", "#a5d6ff", "#e2c5ff", "#a4f0f5", "#ffffff"],
].flat();

/**
 * All frames stand below each other and move through a window, step by step; each line is in the file once. Where less motion is
 * asked for, the last frame stands still.
 */
export function recordingSvg(frames: readonly Frame[], size: Size, title: string): string {
  const width = Math.ceil(size.columns * cell.width) + 2 * margin;
  const screenHeight = size.rows * cell.height;
  const height = screenHeight + 2 * margin;
  const ids = new Map<string, string>();
  const strip = frames.map((frame, number) => frameGroup(frame, number * screenHeight, ids)).join("\n");
  const lines = [...ids].map(([drawn, id]) => `<g id="${id}">${drawn}</g>`).join("\n");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<style>
text { font: ${cell.font}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: ${foreground}; white-space: pre }
.b { font-weight: 600 } .d { opacity: 0.7 }
${colours.map((colour, number) => `.c${number} { fill: ${colour} }`).join(" ")}
${animation(frames, screenHeight)}
</style>
<defs>
${lines}
<clipPath id="window"><rect width="${width}" height="${screenHeight}"/></clipPath>
</defs>
<rect width="${width}" height="${height}" rx="8" fill="${background}"/>
<g transform="translate(${margin} ${margin})"><g clip-path="url(#window)"><g class="strip">
${strip}
</g></g></g>
</svg>
`;
}

function animation(frames: readonly Frame[], screenHeight: number): string {
  const total = (frames.at(-1)?.at ?? 0) + lastMs;
  const steps = frames.map(
    ({ at }, number) =>
      `${((at / total) * 100).toFixed(3)}% { transform: translateY(${-number * screenHeight}px) }`,
  );
  const last = `transform: translateY(${-(frames.length - 1) * screenHeight}px)`;
  return `@keyframes play { ${steps.join(" ")} 100% { ${last} } }
.strip { animation: play ${total}ms step-end infinite }
@media (prefers-reduced-motion: reduce) { .strip { animation: none; ${last} } }`;
}

function frameGroup({ lines }: Frame, top: number, ids: Map<string, string>): string {
  const uses = lines.flatMap((line, row) => {
    if (line.length === 0) return [];
    const drawn = line.map(runText).join("");
    const id = ids.get(drawn) ?? `l${ids.size}`;
    ids.set(drawn, id);
    return `<use href="#${id}" y="${top + (row + 1) * cell.height - 4}"/>`;
  });
  return uses.join("");
}

function runText({ text, column, colour, isBold, isDim }: Run): string {
  const names = [
    colour === undefined ? "" : `c${colour % colours.length}`,
    isBold ? "b" : "",
    isDim ? "d" : "",
  ];
  const classes = names.filter((name) => name !== "").join(" ");
  const shown = text.trimEnd();
  // The width is said: fonts differ, columns must not.
  return `<text x="${round(column * cell.width)}" textLength="${round([...shown].length * cell.width)}"${classes === "" ? "" : ` class="${classes}"`}>${escaped(shown)}</text>`;
}

const round = (value: number): number => Math.round(value * 10) / 10;

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (letter) => escapes[letter] ?? letter);
