/** Draws the plots that a document holds as data, each group into its place. */
import { html, nothing, render, type TemplateResult } from "lit-html";
import { type Plot, type PlotGroup, plotDataId } from "../shared/plots.ts";
import { Grid } from "./grid.ts";
import { Playback } from "./playback.ts";
import { newPlotChoice, type PlotChoice, plotView } from "./plot.ts";
import { amountWords } from "./plot_scale.ts";
import { hueNumber, podsAt } from "./pods_at.ts";

/** Played from end to end, a plot takes so long. */
const playedMs = 8_000;

class DrawnGroup {
  readonly #group: PlotGroup;
  readonly #place: HTMLElement;
  readonly #choice: PlotChoice = newPlotChoice();
  readonly #playback = new Playback();
  readonly #grid: Grid | undefined;
  #frame = 0;

  constructor(group: PlotGroup, place: HTMLElement) {
    this.#group = group;
    this.#place = place;
    this.#grid = group.hasGrid ? new Grid(() => this.#changed()) : undefined;
  }

  draw(): void {
    const { plots } = this.#group;
    const [first] = plots;
    if (first !== undefined) this.#advance(first);
    const views = plots.map((plot) =>
      plotView({ plot, choice: this.#choice, changed: () => this.#pointed() }),
    );
    const grid =
      first === undefined || this.#grid === undefined ? nothing : this.#gridView(first, this.#grid);
    render(html`${grid}${views}`, this.#place);
  }

  #changed(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.draw();
    });
  }

  /** By hand: what plays stops. */
  #pointed(): void {
    this.#playback.pause();
    this.#changed();
  }

  #advance({ x }: Plot): void {
    const playback = this.#playback;
    if (!playback.isPlaying) return;
    playback.advance(performance.now(), playedMs);
    this.#choice.at = x.from + (x.to - x.from) * ((playback.at ?? playedMs) / playedMs);
    this.#changed();
  }

  #toggle({ x }: Plot): void {
    const playback = this.#playback;
    const { at } = this.#choice;
    if (playback.isPlaying) {
      this.#pointed();
      return;
    }
    playback.speed = 1;
    playback.at = at === undefined || at >= x.to ? 0 : (playedMs * (at - x.from)) / (x.to - x.from);
    playback.play(0, performance.now());
    this.#changed();
  }

  /** While nothing is pointed at, the middle is shown: there is something to see. */
  #gridView(plot: Plot, grid: Grid): TemplateResult {
    const { x } = plot;
    const at = this.#choice.at ?? (x.from + x.to) / 2;
    const { cells, podsPerCell } = podsAt(plot, at);
    const time = amountWords(at, x.digits, x.unit);
    const told = cells.find(({ key }) => key === grid.told);
    const each = podsPerCell === 1 ? "" : ` A cell is ${podsPerCell} pods.`;
    grid.show(
      { pods: cells, colourOf: hueNumber, pointedOut: new Set() },
      `${plot.title} at ${time}.${each}`,
    );
    return html`<figure class="plotted pods">
      <figcaption>
        <span>The pods <span class="quiet">at ${time}</span></span>
        <button type="button" class="plain" @click=${() => this.#toggle(plot)}>${this.#playback.isPlaying ? "Pause" : "Play"}</button>
      </figcaption>
      <div class="grid-frame">${grid.canvas}</div>
      <p class="told">${told === undefined ? html`<span class="quiet">Ordered by state, not by name.${each} Point at a plot, or play, to see another time.</span>` : html`<b>${told.pod.name}</b>`}</p>
    </figure>`;
  }
}

const groups: readonly PlotGroup[] = JSON.parse(document.getElementById(plotDataId)?.textContent ?? "[]");
for (const group of groups) {
  const place = document.getElementById(group.place);
  if (place !== null) new DrawnGroup(group, place).draw();
}
