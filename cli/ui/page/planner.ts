/** What the page knows of plans: of the workload as it is, and of a manifest that somebody gave. */
import {
  longestPlanRequest,
  type PlanAnswer,
  type PlanRefusal,
  type PlanRequest,
  planPath,
} from "../shared/plans.ts";
import { Grid } from "./grid.ts";

export type Planned = PlanAnswer | PlanRefusal;

/** A manifest as it was given. `file`: empty where it was written or pasted. */
export interface Draft {
  text: string;
  file: string;
}

/** A plan lists pods: of the workload as it is, one is asked for after a change, and not more often than this. */
const restMs = 3_000;

/** No answer is this. */
const nothingYet = {};

export class Planner {
  readonly grid: Grid;
  readonly #changed: () => void;
  /** Key of the workload that is planned. */
  #key = "";
  #mode: "live" | "manifest" = "live";
  draft: Draft = { text: "", file: "" };
  /** Of the workload as it is; undefined until it is known. */
  live: Planned | undefined;
  /** Of the manifest, and which one that was. */
  given: { readonly draft: Readonly<Draft>; planned: Planned | undefined } | undefined;
  isTableOpen = false;
  isDropping = false;
  /** What was seen when it was asked last. */
  #askedFor: unknown = nothingYet;
  #askedAt = Number.NEGATIVE_INFINITY;
  #isAsking = false;

  constructor(changed: () => void) {
    this.#changed = changed;
    this.grid = new Grid(changed);
  }

  get mode(): "live" | "manifest" {
    return this.#mode;
  }

  set mode(mode: "live" | "manifest") {
    this.#mode = mode;
    this.grid.chosen = undefined;
    this.#changed();
  }

  /** What is shown: undefined while it is being made, or where nothing was asked. */
  get shown(): Planned | undefined {
    return this.#mode === "live" ? this.live : this.given?.planned;
  }

  /**
   * Asks again when the workload has changed: `seen` is another value then. `now`: milliseconds of a clock that only goes
   * forward. Called at every frame.
   */
  follow(key: string, seen: unknown, now: number): void {
    if (key !== this.#key) this.#begin(key);
    if (this.#isAsking || seen === this.#askedFor || now - this.#askedAt < restMs) return;
    this.#askedFor = seen;
    this.#askedAt = now;
    void this.#askLive(key);
  }

  async planDraft(): Promise<void> {
    const given: NonNullable<Planner["given"]> = { draft: { ...this.draft }, planned: undefined };
    this.given = given;
    this.#changed();
    given.planned = await plannedBy({ workload: this.#key, manifest: given.draft.text });
    this.#changed();
  }

  /** `text`: what could not be read is undefined. */
  async take(file: string, text: Promise<string | undefined>): Promise<void> {
    this.mode = "manifest";
    const read = await text;
    this.draft = { file, text: read ?? "" };
    if (read !== undefined) return this.planDraft();
    const refusal = "This file cannot be planned: it is not one file of at most 1 MB.";
    this.given = { draft: { ...this.draft }, planned: { refusal } };
    this.#changed();
  }

  #begin(key: string): void {
    this.#key = key;
    this.#mode = "live";
    this.draft = { text: "", file: "" };
    [this.live, this.given, this.#askedFor] = [undefined, undefined, nothingYet];
    this.#askedAt = Number.NEGATIVE_INFINITY;
    this.grid.chosen = undefined;
  }

  async #askLive(workload: string): Promise<void> {
    this.#isAsking = true;
    const planned = await plannedBy({ workload });
    this.#isAsking = false;
    if (workload === this.#key) this.live = planned;
    this.#changed();
  }
}

async function plannedBy(request: PlanRequest): Promise<Planned> {
  const body = JSON.stringify(request);
  if (body.length > longestPlanRequest) return { refusal: "The manifest is too long: 1 MB is the most." };
  try {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(planPath, { method: "POST", headers, body });
    const text = await answer.text();
    return answer.ok ? JSON.parse(text) : { refusal: text.trim() };
  } catch {
    return { refusal: 'No answer came. Look whether "refit ui" still runs.' };
  }
}
