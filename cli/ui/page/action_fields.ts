/** What each action says of itself, and what has to be filled in. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { Action, RevisionChoice } from "../shared/actions.ts";
import type { ActionDraft } from "./action_draft.ts";

export const actionLabels: Readonly<Record<Action, string>> = {
  pause: "Pause",
  resume: "Resume",
  promote: "Promote",
  partition: "Set partition",
  undo: "Undo",
  scale: "Scale",
  recreate: "Restart containers",
};

export const actionEffects: Readonly<Record<Action, string>> = {
  pause: "It updates nothing more until it is resumed. Scaling and repair go on.",
  resume: "It goes on from where it was paused.",
  promote: "More pods may be updated: the partition, which keeps pods at the old revision, becomes smaller.",
  partition:
    "So many pods stay at the old revision. A larger one holds back pods that are not updated yet, and is no undo.",
  undo: "What a former revision held is put back, and rolled out.",
  scale: "The number of its pods is set.",
  recreate: "The agent of the pod's node restarts them. The pod itself stays.",
};

/** Pods to choose from, `namespace/name`; more are not listed. */
export const mostPods = 500;

export interface FieldsView {
  readonly draft: ActionDraft;
  readonly pods: readonly string[];
  /** Newest first. Empty while they are read, undefined when they cannot be. */
  readonly revisions: readonly RevisionChoice[] | undefined;
  readonly isLocked: boolean;
  changed(): void;
}

export function actionFields(view: FieldsView): TemplateResult | typeof nothing {
  switch (view.draft.action) {
    case "pause":
    case "resume":
      return nothing;
    case "promote":
      return promotionFields(view);
    case "partition":
      return textField(view, "amount", "Pods that stay at the old revision, or a percentage such as 20%");
    case "undo":
      return revisionField(view);
    case "scale":
      return textField(view, "replicas", "Pods");
    case "recreate":
      return html`${podField(view)} ${textField(view, "containers", "Containers, with commas (empty: all)")}`;
  }
}

type TextField = "amount" | "replicas" | "revision" | "containers";

function textField({ draft, isLocked, changed }: FieldsView, name: TextField, label: string): TemplateResult {
  const typed = ({ currentTarget }: Event): void => {
    if (!(currentTarget instanceof HTMLInputElement)) return;
    draft[name] = currentTarget.value;
    changed();
  };
  return html`<label>${label}
    <input name=${name} autocomplete="off" spellcheck="false" .value=${draft[name]} ?disabled=${isLocked} @input=${typed} />
  </label>`;
}

const ways: readonly (readonly [by: ActionDraft["by"], label: string])[] = [
  ["step", "By a step: so many pods more, or a percentage"],
  ["to", "To a partition: so many pods stay old, or a percentage"],
  ["end", "To the end: all pods"],
];

function promotionFields(view: FieldsView): TemplateResult {
  const { draft, isLocked, changed } = view;
  const choose = (by: ActionDraft["by"]) => () => {
    draft.by = by;
    changed();
  };
  return html`<fieldset>
      <legend>How far</legend>
      ${ways.map(
        ([by, label]) => html`<label class="way">
          <input type="radio" name="by" value=${by} .checked=${draft.by === by} ?disabled=${isLocked} @change=${choose(by)} />
          ${label}
        </label>`,
      )}
    </fieldset>
    ${draft.by === "end" ? nothing : textField(view, "amount", "Pods, or a percentage such as 20%")}`;
}

function revisionField(view: FieldsView): TemplateResult {
  const { revisions } = view;
  if (revisions === undefined)
    return textField(view, "revision", "Revision (empty: the one before the newest)");
  const former = revisions
    .slice(1)
    .map(({ number, text }) => [String(number), `${number}: ${text}`] as const);
  return choiceField(view, "revision", "Revision", [["", "The one before the newest"], ...former]);
}

function podField(view: FieldsView): TemplateResult {
  const pods = view.pods.map((pod) => [pod, pod.slice(pod.indexOf("/") + 1)] as const);
  return choiceField(view, "pod", "Pod", pods);
}

type Choice = readonly [value: string, label: string];

function choiceField(
  { draft, isLocked, changed }: FieldsView,
  name: "pod" | "revision",
  label: string,
  choices: readonly Choice[],
): TemplateResult {
  const choose = ({ currentTarget }: Event): void => {
    if (!(currentTarget instanceof HTMLSelectElement)) return;
    draft[name] = currentTarget.value;
    changed();
  };
  const option = ([value, text]: Choice): TemplateResult =>
    html`<option value=${value} ?selected=${value === draft[name]}>${text}</option>`;
  return html`<label>${label}
    <select name=${name} ?disabled=${isLocked} @change=${choose}>${choices.map(option)}</select>
  </label>`;
}
