/** What the page says of a recording that it plays. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { RecordingEnd } from "../shared/recorded.ts";

export interface Played {
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly until: number;
  /** Undefined when the writer was killed. */
  readonly end: RecordingEnd | undefined;
}

export function playedStatus({ from }: Played): TemplateResult {
  const date = new Date(from).toLocaleDateString(undefined, { dateStyle: "medium" });
  return html`<span class="live recorded"><i></i>Recorded on ${date}</span>`;
}

export function playedNote({ end }: Played): TemplateResult | typeof nothing {
  if (end === "stopped") return nothing;
  const why =
    end === "full"
      ? "The recording ended when its file had its largest size. The cluster went on."
      : "The recording was cut off. Its last moments may be missing.";
  return html`<p class="note ending">${why}</p>`;
}

export const notRecorded = html`<div class="empty">
  <h1>Not recorded</h1>
  <p>
    At this time the recording did not follow this workload: it follows those that are not done, up to 20, and those that somebody
    opened.
  </p>
</div>`;

export const nodesNotRecorded = html`<div class="empty">
  <h1>Not recorded</h1>
  <p>A recording holds workloads and their pods, and nothing of what the agents of nodes did.</p>
</div>`;
