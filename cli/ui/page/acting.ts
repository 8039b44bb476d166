/** The buttons that change a workload, and the dialog that shows the command and asks before. */
import { html, nothing, render, type TemplateResult } from "lit-html";
import {
  type Action,
  type ActionAnswer,
  type ActionRequest,
  type ActionTable,
  actionPath,
  actionTableName,
  commandOf,
  type RevisionChoice,
  revisionsPath,
} from "../shared/actions.ts";
import type { Item, WorkloadItem } from "../shared/items.ts";
import { type ActionDraft, requestOf } from "./action_draft.ts";
import { actionEffects, actionFields, actionLabels, mostPods } from "./action_fields.ts";
import type { Grid } from "./grid.ts";
import { command } from "./parts.ts";

/** Empty where the server changes nothing. */
export function offeredActions(): ActionTable {
  const table = document.querySelector(`meta[name="${actionTableName}"]`)?.getAttribute("content");
  return JSON.parse(table ?? "{}");
}

interface Place {
  /** Key of the workload. */
  readonly key: string;
  readonly items: ReadonlyMap<string, Item>;
  readonly grid: Pick<Grid, "chosen">;
}

export function actionButtons(
  offered: ActionTable,
  dialog: ActionDialog,
  place: Place,
): TemplateResult | typeof nothing {
  const workload = place.items.get(place.key);
  if (workload?.is !== "workload") return nothing;
  const fitting = offered[`${workload.kind}.${workload.group}`] ?? [];
  const actions = fitting.filter((action) => action !== (workload.isPaused ? "pause" : "resume"));
  if (actions.length === 0) return nothing;
  const button = (action: Action): TemplateResult =>
    html`<button type="button" class="plain" @click=${() => dialog.ask(action, workload, place)}>
      ${actionLabels[action]}…
    </button>`;
  return html`<div class="actions" role="group" aria-label="Change it">${actions.map(button)}</div>`;
}

interface Asked {
  readonly draft: ActionDraft;
  readonly name: string;
  readonly pods: readonly string[];
  /** As the fields take them. */
  revisions: readonly RevisionChoice[] | undefined;
  state: "asking" | "running" | ActionAnswer;
}

export class ActionDialog {
  readonly #element = document.createElement("dialog");
  #asked: Asked | undefined;

  constructor() {
    this.#element.className = "acting";
    this.#element.setAttribute("aria-labelledby", "acting-title");
    this.#element.addEventListener("close", () => {
      this.#asked = undefined;
    });
    document.body.append(this.#element);
  }

  ask(action: Action, workload: WorkloadItem, { key, items, grid }: Place): void {
    const pods = podsIn(items, grid.chosen);
    const draft = draftOf(action, key, workload, pods[0] ?? "");
    const asked: Asked = { draft, name: workload.name, pods, revisions: [], state: "asking" };
    this.#asked = asked;
    this.#draw();
    if (action === "undo") void this.#readRevisions(asked);
    this.#element.showModal();
    this.#focusClose();
  }

  /** What has the focus is pressed by Enter: never what acts. */
  #focusClose(): void {
    document.getElementById("acting-close")?.focus();
  }

  #draw(): void {
    const asked = this.#asked;
    if (asked !== undefined) render(this.#content(asked), this.#element);
  }

  #content(asked: Asked): TemplateResult {
    const { draft, name, pods, revisions, state } = asked;
    const label = actionLabels[draft.action];
    const request = requestOf(draft);
    const isAsking = state === "asking";
    const fields = { draft, pods, revisions, isLocked: !isAsking, changed: () => this.#draw() };
    return html`<h2 id="acting-title">${label}: ${name}</h2>
      <p>${actionEffects[draft.action]}</p>
      ${actionFields(fields)}
      <h3>The same in a terminal</h3>
      ${request === undefined ? html`<p class="note">Something is missing above, or is not of the form that is named.</p>` : command(commandOf(request))}
      <div role="status">${said(state)}</div>
      <div class="buttons">
        <button type="button" id="acting-close" class="plain" @click=${() => this.#element.close()}>
          ${isAsking ? "Cancel" : "Close"}
        </button>
        ${
          isAsking
            ? html`<button type="button" class="act" ?disabled=${request === undefined} @click=${() => request && this.#act(asked, request)}>
              ${label}
            </button>`
            : nothing
        }
      </div>`;
  }

  async #readRevisions(asked: Asked): Promise<void> {
    const path = `${revisionsPath}?workload=${encodeURIComponent(asked.draft.workload)}`;
    asked.revisions = await revisionsAt(path).catch(() => undefined);
    this.#draw();
  }

  async #act(asked: Asked, request: ActionRequest): Promise<void> {
    if (asked.state !== "asking") return;
    asked.state = "running";
    this.#draw();
    this.#focusClose();
    asked.state = await answerTo(request);
    this.#draw();
  }
}

/** The chosen one first. */
function podsIn(items: ReadonlyMap<string, Item>, chosen: string | undefined): string[] {
  const keys = [...items].flatMap(([key, item]) => (item.is === "pod" ? [key] : [])).sort();
  const first = keys.filter((key) => key === chosen);
  const others = keys.filter((key) => key !== chosen);
  return [...first, ...others].slice(0, mostPods).map((key) => key.slice("pod/".length));
}

function draftOf(
  action: Action,
  key: string,
  { desired, partition }: WorkloadItem,
  pod: string,
): ActionDraft {
  return {
    action,
    workload: key,
    by: "step",
    amount: action === "partition" ? String(partition) : "20%",
    replicas: String(desired),
    revision: "",
    pod,
    containers: "",
    number: Math.floor(Date.now() / 1_000) % 2 ** 31,
  };
}

/** Undefined when the server refuses. Rejects when there is no answer. */
async function revisionsAt(path: string): Promise<RevisionChoice[] | undefined> {
  const answer = await fetch(path);
  return answer.ok ? JSON.parse(await answer.text()) : undefined;
}

async function answerTo(request: ActionRequest): Promise<ActionAnswer> {
  try {
    const body = JSON.stringify(request);
    const headers = { "content-type": "application/json" };
    const answer = await fetch(actionPath, { method: "POST", headers, body });
    const text = await answer.text();
    return answer.ok ? JSON.parse(text) : { code: 1, text };
  } catch {
    return { code: 1, text: 'No answer came. Look whether it was done, and whether "refit ui" still runs.' };
  }
}

function said(state: Asked["state"]): TemplateResult | typeof nothing {
  if (state === "asking") return nothing;
  if (state === "running")
    return html`<p class="quiet">Asking the server. Closing this does not stop it.</p>`;
  const { code, text } = state;
  return html`<h3>${code === 0 ? "The answer" : "Not done"}</h3>
    <pre class=${code === 0 ? "answer" : "answer failed"}>${text}</pre>`;
}
