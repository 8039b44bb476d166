/** Events about a workload and its pods, the newest first. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { EventItem } from "../shared/detail_items.ts";
import { age } from "./words.ts";

export function eventsCard(events: readonly EventItem[], now: number): TemplateResult {
  const sorted = events.toSorted((a, b) => b.at - a.at);
  return html`<section class="card padded" aria-labelledby="events-title">
    <h2 id="events-title">Events ${events.length === 0 ? nothing : html`<span class="quiet">${events.length}</span>`}</h2>
    ${
      events.length === 0
        ? html`<p class="quiet">There are none. A cluster forgets them, most after an hour.</p>`
        : html`<ul class="events" tabindex="0" role="list" aria-labelledby="events-title">
            ${sorted.map((event) => eventView(event, now))}
          </ul>`
    }
  </section>`;
}

function eventView(
  { isWarning, reason, message, kind, name, count, at }: EventItem,
  now: number,
): TemplateResult {
  return html`<li class=${isWarning ? "warning" : ""}>
    <p class="entry">
      <b>${reason}</b>
      ${isWarning ? html`<span class="tag">warning</span>` : nothing}
      <span class="quiet">${kind} ${name}</span>
      <span class="when quiet">${count > 1 ? html`${count} times, ` : nothing}${age(now - at)} ago</span>
    </p>
    <p>${message}</p>
  </li>`;
}
