/** Sidecars of two containers that take turns: which one works in each pod, and how far its upgrade is. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { HotSlot, HotStep, HotUpgradeItem } from "../shared/detail_items.ts";
import { count } from "./words.ts";

const stepWords: Readonly<Record<HotStep, string>> = {
  starting: "The new one starts",
  handingOver: "The old one goes to rest",
  waiting: "Waits for its turn",
  rests: "Up to date",
};

const looks: Readonly<Record<HotStep, string>> = {
  starting: "busy",
  handingOver: "busy",
  waiting: "",
  rests: "good",
};

const order: readonly HotStep[] = ["starting", "handingOver", "waiting", "rests"];

/** `pods`: of the set, of which those that are listed may be a part. */
export function hotUpgradesCard(
  upgrades: readonly HotUpgradeItem[],
  pods: number,
): TemplateResult | typeof nothing {
  if (upgrades.length === 0) return nothing;
  const nameOf = ({ namespace, pod, sidecar }: HotUpgradeItem): string => `${namespace}/${pod}/${sidecar}`;
  const sorted = upgrades.toSorted(
    (a, b) => order.indexOf(a.step) - order.indexOf(b.step) || (nameOf(a) < nameOf(b) ? -1 : 1),
  );
  const listed = new Set(upgrades.map(({ namespace, pod }) => `${namespace}/${pod}`)).size;
  return html`<section class="card padded" aria-labelledby="hot-title">
    <h2 id="hot-title">Hot upgrades <span class="quiet">${summaryOf(upgrades)}</span></h2>
    <div class="scroll hot" role="region" aria-label="Table of hot upgrades" tabindex="0">
      <table>
        <thead>
          <tr><th scope="col">Pod</th><th scope="col">First container</th><th scope="col">Second container</th><th scope="col">Step</th></tr>
        </thead>
        <tbody>${sorted.map(row)}</tbody>
      </table>
    </div>
    ${listed < pods ? html`<p class="quiet">${listed} of ${count(pods, "pod")} are listed: those under way first.</p>` : nothing}
  </section>`;
}

function summaryOf(upgrades: readonly HotUpgradeItem[]): string {
  const steps = Map.groupBy(upgrades, ({ step }) => step);
  const done = steps.get("rests")?.length ?? 0;
  const underWay = (steps.get("starting")?.length ?? 0) + (steps.get("handingOver")?.length ?? 0);
  return `${done} of ${upgrades.length} up to date${underWay === 0 ? "" : `, ${underWay} under way`}`;
}

function row({ namespace, pod, sidecar, slots, step }: HotUpgradeItem): TemplateResult {
  return html`<tr>
    <th scope="row"><span>${pod}</span> <span class="quiet">${namespace} · ${sidecar}</span></th>
    ${slots.map((slot) => html`<td>${slotView(slot, step)}</td>`)}
    <td><span class="tag ${looks[step]}">${stepWords[step]}</span></td>
  </tr>`;
}

function slotView(slot: HotSlot, step: HotStep): TemplateResult {
  const { container, image, version, isEmpty, isNew } = slot;
  const look = `slot ${isEmpty ? "at-rest" : isNew ? "newest" : "former"}`;
  const of = isEmpty || version === "" ? "" : `version ${version}`;
  return html`<div class=${look} title=${`${container}: ${image}`}>
    <span class="entry"><b>${doing(slot, step)}</b> <span class="quiet">${of}</span></span>
    <code>${isEmpty ? "empty" : image}</code>
  </div>`;
}

function doing({ isEmpty, isWorking, isReady }: HotSlot, step: HotStep): string {
  if (isEmpty) return "At rest";
  if (step === "starting" || step === "handingOver")
    return isWorking ? (isReady ? "Takes over" : "Starts") : "Hands over";
  return isWorking ? "Works" : "Idle";
}
