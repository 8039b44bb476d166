/** Small parts of which both views are made. */
import { html, nothing, svg, type TemplateResult } from "lit-html";
import type { Need, WorkloadItem } from "../shared/items.ts";
import { needWords } from "./words.ts";

/** A state has a shape and a word besides its colour. */
const marks: Readonly<Record<Need, TemplateResult>> = {
  stuck: svg`<path d="M3 3l10 10M13 3L3 13" />`,
  unknown: svg`<path d="M5 6a3 3 0 1 1 4.2 2.7Q8 9.3 8 10.6M8 13v.4" />`,
  waiting: svg`<path d="M5.5 3v10M10.5 3v10" />`,
  progressing: svg`<path d="M3 8h9M8.5 4L12.5 8l-4 4" />`,
  done: svg`<path d="M3 8.5l3.5 3.5L13 4.5" />`,
};

export function badge(state: Need): TemplateResult {
  return html`<span class="badge ${state}">${mark(state)}${needWords[state]}</span>`;
}

export function mark(state: Need): TemplateResult {
  return html`<svg class="mark" viewBox="0 0 16 16" aria-hidden="true">${marks[state]}</svg>`;
}

/** Not so a job that only makes other jobs. */
export function wantsPods({ isJob, desired }: WorkloadItem): boolean {
  return !isJob || desired > 0;
}

/** How much is at the new revision, darker where it must be available, with a line where the partition holds the rest back. */
export function bar({ desired, updated, available, partition }: WorkloadItem): TemplateResult {
  const share = (part: number): number => (desired === 0 ? 0 : Math.min(100, (100 * part) / desired));
  const hold = partition > 0 && partition < desired ? share(desired - partition) : undefined;
  return html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect class="track" width="100" height="8" />
    <rect class="updated" width=${share(updated)} height="8" />
    <rect class="available" width=${share(Math.max(0, updated - Math.max(0, desired - available)))} height="8" />
    ${hold === undefined ? nothing : svg`<line class="hold" x1=${hold} x2=${hold} y1="0" y2="8" />`}
  </svg>`;
}

/** A state as the API names it. */
export function tag(words: string, isBad = words === "Failed"): TemplateResult {
  const look = isBad ? "bad" : words === "Completed" ? "good" : "busy";
  return html`<span class="tag ${look}">${words}</span>`;
}

export function copyButton(text: string): TemplateResult {
  return html`<button class="copy" type="button" aria-label="Copy the command" .value=${text} @click=${copy}>
    Copy
  </button>`;
}

export function command(text: string): TemplateResult {
  // A browser breaks a line behind a hyphen, which would part a flag from its dash.
  const words = text.split(" ").map((word) => html`<span>${word}</span> `);
  return html`<div class="command"><code>${words}</code>${copyButton(text)}</div>`;
}

async function copy({ currentTarget }: Event): Promise<void> {
  if (!(currentTarget instanceof HTMLButtonElement)) return;
  const button = currentTarget;
  const said = await navigator.clipboard.writeText(button.value).then(
    () => "Copied",
    () => "Not allowed",
  );
  button.dataset["said"] = said;
  setTimeout(() => delete button.dataset["said"], 1_500);
}
