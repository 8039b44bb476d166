/** What agents of nodes do for a workload: containers to be made again, and images to be pulled. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { PullItem, PullNode, RecreateItem } from "../shared/detail_items.ts";
import { tag } from "./parts.ts";
import { age, count } from "./words.ts";

export function recreateCard(
  requests: readonly RecreateItem[],
  now: number,
): TemplateResult | typeof nothing {
  if (requests.length === 0) return nothing;
  return html`<section class="card padded" aria-labelledby="recreate-title">
    <h2 id="recreate-title">Recreate requests <span class="quiet">${requests.length}</span></h2>
    <ul class="entries">${requests.map((request) => recreateView(request, now))}</ul>
  </section>`;
}

function recreateView(
  { name, pod, node, phase, message, containers, since }: RecreateItem,
  now: number,
): TemplateResult {
  const failed = containers.some((container) => container.phase === "Failed");
  // Its deadline has ended it.
  const isCutOff = phase === "Completed" && containers.some((each) => each.phase !== "Succeeded");
  return html`<li>
    <p class="entry">
      <b>${name}</b> ${failed ? tag("Failed") : tag(phase || "Not taken up", isCutOff)}
      <span class="when quiet">${age(now - since)} ago</span>
    </p>
    <p class="quiet">${pod}${node === "" ? nothing : html` on ${node}`}</p>
    <p>${containers.map((each) => html`<code>${each.name}</code> <span class="quiet">${each.phase}</span> `)}</p>
    ${message === "" ? nothing : html`<p>${message}</p>`}
  </li>`;
}

export function pullCard(pulls: readonly PullItem[], now: number): TemplateResult | typeof nothing {
  if (pulls.length === 0) return nothing;
  return html`<section class="card padded" aria-labelledby="pulls-title">
    <h2 id="pulls-title">Image pulls <span class="quiet">${pulls.length}</span></h2>
    <ul class="entries">${pulls.map((pull) => pullView(pull, now))}</ul>
  </section>`;
}

function pullView(pull: PullItem, now: number): TemplateResult {
  const { name, image, desired, succeeded, failed, message, since, endedAt, nodes, moreNodes } = pull;
  const state = failed > 0 ? "Failed" : endedAt === undefined ? "Pulling" : "Completed";
  return html`<li>
    <p class="entry">
      <code>${image}</code> ${tag(state)}
      <span class="when quiet">${since === undefined ? nothing : `${age((endedAt ?? now) - since)}${endedAt === undefined ? " so far" : ""}`}</span>
    </p>
    <p class="quiet">${name} · ${succeeded} of ${count(desired, "node")}${failed === 0 ? nothing : html` · <b>${failed} failed</b>`}</p>
    ${message === "" ? nothing : html`<p>${message}</p>`}
    ${nodes.length === 0 ? nothing : html`<ul class="nodes">${nodes.map((node) => nodeView(node, now))}</ul>`}
    ${moreNodes === 0 ? nothing : html`<p class="quiet">${count(moreNodes, "node")} more.</p>`}
  </li>`;
}

function nodeView({ node, phase, message, progress, since }: PullNode, now: number): TemplateResult {
  const how = phase === "Pulling" ? `${phase} ${progress} %` : phase || "Not taken up";
  return html`<li>
    <span>${node}</span> ${tag(how)}
    <span class="when quiet">${since === undefined ? nothing : age(now - since)}</span>
    ${message === "" ? nothing : html`<span class="quiet said">${message}</span>`}
  </li>`;
}
