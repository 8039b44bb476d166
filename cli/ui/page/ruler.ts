/** The ruler above the grid: how many pods may be updated, how many are, and where the partition and the hooks hold. */
import { html, nothing, svg, type TemplateResult } from "lit-html";
import type { LifecycleHook, RolloutItem, RolloutScale } from "../shared/detail_items.ts";
import type { PodItem } from "../shared/items.ts";
import { count } from "./words.ts";

export function ruler({ scales, hooks, isOnDelete }: RolloutItem, pods: readonly PodItem[]): TemplateResult {
  const [whole, ...subsets] = scales;
  if (whole === undefined || whole.total === 0) return html`${nothing}`;
  // The bar at the head of the page says as much.
  if (whole.kept === 0 && whole.updated === whole.total && hooks.length === 0) return html`${nothing}`;
  return html`<div class="ruler">
    ${scaleView(whole, isOnDelete)}
    ${subsets.length === 0 ? nothing : html`<ul class="scales">${subsets.map(subsetView)}</ul>`}
    ${hooks.length === 0 ? nothing : html`<ul class="hooks">${hooks.map((hook) => hookView(hook, pods))}</ul>`}
  </div>`;
}

/** Where a count stands, in percent of the whole. */
const share = (part: number, { total }: RolloutScale): number =>
  total === 0 ? 0 : Math.min(100, Math.max(0, (100 * part) / total));

function scaleView(scale: RolloutScale, isOnDelete: boolean): TemplateResult {
  const { total, kept, given, updated = 0 } = scale;
  const may = isOnDelete ? updated : total - kept;
  const next = Math.max(0, may - updated);
  const rest = isOnDelete ? total - updated : kept;
  return html`
    <svg class="scale" role="img" aria-label=${describeScale(scale, isOnDelete)}>
      ${bars(scale, isOnDelete ? total : may)}
      ${kept === 0 || isOnDelete ? nothing : stop(share(may, scale))}
    </svg>
    <ul class="legend">
      <li><i class="sample updated"></i>updated <span class="quiet">${updated}</span></li>
      ${next === 0 ? nothing : html`<li><i class="sample may"></i>may follow <span class="quiet">${next}</span></li>`}
      ${rest === 0 ? nothing : html`<li><i class="sample kept"></i>${restWords(given, isOnDelete)} <span class="quiet">${rest}</span></li>`}
    </ul>
  `;
}

function restWords(given: string, isOnDelete: boolean): string {
  if (isOnDelete) return "when somebody deletes them (OnDelete)";
  return given === "" ? "held by partitions of subsets" : `held by the partition ${given}`;
}

/** `may`: up to where it goes by itself; beyond is what is kept back. */
function bars(scale: RolloutScale, may: number): TemplateResult {
  const { updated = 0 } = scale;
  const width = (part: number): string => `${share(part, scale)}%`;
  return svg`<rect class="kept" width="100%" height="12" y="6" rx="4" />
    <rect class="may" width=${width(may)} height="12" y="6" rx="4" />
    <rect class="updated" width=${width(updated)} height="12" y="6" rx="4" />`;
}

const stop = (at: number): TemplateResult =>
  svg`<line class="stop" x1="${at}%" x2="${at}%" y1="1" y2="23" />`;

function describeScale(
  { label, given, total, kept, updated = 0 }: RolloutScale,
  isOnDelete: boolean,
): string {
  const done = `${updated} of ${count(total, "pod")} updated`;
  if (isOnDelete) return `${done}; the others when somebody deletes them`;
  if (kept === 0) return `${done}; all may be`;
  return `${done}; ${total - kept} may be, ${kept} are held by ${given === "" ? "partitions of subsets" : `the ${label} ${given}`}`;
}

function subsetView(scale: RolloutScale): TemplateResult {
  const { label, given, total, kept } = scale;
  return html`<li>
    <span>${label} <b>${given}</b></span>
    <svg class="scale small" aria-hidden="true">
      ${bars({ ...scale, updated: 0 }, total - kept)} ${stop(share(total - kept, scale))}
    </svg>
    <span class="quiet">${kept} of ${total} held</span>
  </li>`;
}

const hookWords: Readonly<Record<LifecycleHook["name"], string>> = {
  preDelete: "Before a pod is deleted",
  inPlaceUpdate: "Before and after an update in place",
  preNormal: "Before a new pod counts",
};

/** States in which a pod waits for what a hook names. */
const statesOf: Readonly<Record<LifecycleHook["name"], readonly string[]>> = {
  preDelete: ["PreparingDelete"],
  inPlaceUpdate: ["PreparingUpdate", "Updated"],
  preNormal: ["PreparingNormal"],
};

function hookView({ name, handlers }: LifecycleHook, pods: readonly PodItem[]): TemplateResult {
  const waiting = pods.filter(({ lifecycle }) => statesOf[name].includes(lifecycle)).length;
  return html`<li class=${waiting === 0 ? "" : "waits"}>
    <span>${hookWords[name]} <span class="quiet">(${name})</span></span>
    ${handlers.map((handler) => html`<code>${handler}</code>`)}
    <span>${waiting === 0 ? html`<span class="quiet">no pod waits</span>` : html`<b>${waiting}</b> ${waiting === 1 ? "pod waits" : "pods wait"}`}</span>
  </li>`;
}
