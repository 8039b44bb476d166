/** What the page knows of plans: of the workload as it is, and of a manifest that somebody gave. */
import {
  longestPlanRequest,
  manifestViewKey,
  type PlanAnswer,
  type PlanChoices,
  type PlanRefusal,
  type PlanRequest,
  planPath,
} from "../shared/plans.ts";
import { Grid } from "./grid.ts";

export type Planned = PlanAnswer | PlanChoices | PlanRefusal;

/** Where plans are shown: in the view of a workload, or where manifests of others are. */
export interface PlanPlaces {
  /** Key of the view that is shown, if it has plans; else of the one that takes any manifest. */
  shown(): string;
  go(key: string): void;
}

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
  /** Somebody is to be led to the plan, which may be further down. */
  isArriving = false;
  readonly #places: PlanPlaces;
  /** What was seen when it was asked last. */
  #askedFor: unknown = nothingYet;
  #askedAt = Number.NEGATIVE_INFINITY;
  #isAsking = false;

  constructor(changed: () => void, places: PlanPlaces) {
    this.#changed = changed;
    this.#places = places;
    this.grid = new Grid(changed);
  }

  get key(): string {
    return this.#key;
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
    this.show(key);
    if (this.#isAsking || seen === this.#askedFor || now - this.#askedAt < restMs) return;
    this.#askedFor = seen;
    this.#askedAt = now;
    void this.#askLive(key);
  }

  /** The view of a key is shown: what was given in another one is forgotten. */
  show(key: string): void {
    if (key !== this.#key) this.#begin(key);
  }

  /** `at`: which object of the manifest. */
  async planDraft(at?: number): Promise<void> {
    const key = this.#key;
    const given: NonNullable<Planner["given"]> = { draft: { ...this.draft }, planned: undefined };
    this.given = given;
    this.#changed();
    const workload = key === manifestViewKey ? {} : { workload: key };
    const planned = await plannedBy({
      ...workload,
      manifest: given.draft.text,
      ...(at === undefined ? {} : { at }),
    });
    given.planned = planned;
    if (this.given === given && "of" in planned) this.#lead(planned);
    this.#changed();
  }

  /** To the view of what the manifest names. */
  #lead({ of }: PlanAnswer): void {
    const key = of?.isListed === true ? of.key : manifestViewKey;
    if (key === this.#key) return;
    const { given, draft } = this;
    this.#begin(key);
    this.#mode = "manifest";
    [this.given, this.draft] = [given, draft];
    this.isArriving = true;
    this.#places.go(key);
  }

  /** A file from anywhere on the page. `text`: what could not be read is undefined. */
  async take(file: string, text: Promise<string | undefined>, unread: string): Promise<void> {
    const key = this.#places.shown();
    this.show(key);
    this.mode = "manifest";
    this.isArriving = true;
    this.#places.go(key);
    const read = await text;
    this.draft = { file, text: read ?? "" };
    if (read !== undefined) return this.planDraft();
    this.given = { draft: { ...this.draft }, planned: { refusal: unread } };
    this.#changed();
  }

  #begin(key: string): void {
    this.#key = key;
    this.#mode = key === manifestViewKey ? "manifest" : "live";
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
