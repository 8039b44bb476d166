/** Moving through what was seen: by hand, by playing it, from change to change. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { Item } from "../shared/items.ts";
import type { Recording } from "../shared/recording.ts";
import { clockTime } from "./words.ts";

/** Times as fast as it was. */
const speeds = [1, 4, 16, 64];
/** Of the slider: how often the server sends. */
const stepMs = 100;
const shortestMs = 1_000;

/** Which time is shown. */
export class Playback {
  /** Undefined for the newest. */
  at: number | undefined;
  speed = 4;
  /** Time of the frame up to which it was played; undefined while it does not play. */
  #playedAt: number | undefined;

  get isPlaying(): boolean {
    return this.#playedAt !== undefined;
  }

  /** `frame`: milliseconds of a clock that only goes forward. At the end, it plays from the beginning. */
  play(from: number, frame: number): void {
    this.at ??= from;
    this.#playedAt = frame;
  }

  pause(): void {
    this.#playedAt = undefined;
  }

  show(at: number | undefined): void {
    this.pause();
    this.at = at;
  }

  /** Plays on up to a frame. What comes to the end has the newest state, and stops. */
  advance(frame: number, until: number): void {
    if (this.#playedAt === undefined || this.at === undefined) return;
    const at = this.at + (frame - this.#playedAt) * this.speed;
    this.#playedAt = at < until ? frame : undefined;
    this.at = at < until ? at : undefined;
  }
}

export interface TimeBar {
  readonly recording: Recording<Item>;
  readonly playback: Playback;
  readonly until: number;
  /** What is shown ends, and does not go on. */
  readonly isRecorded: boolean;
  changed(): void;
}

export function timeBar(bar: TimeBar): TemplateResult | typeof nothing {
  const { recording, playback, until, isRecorded } = bar;
  const { span } = recording;
  if (span === undefined || until - span.from < shortestMs) return nothing;
  const { at } = playback;
  const newest = isRecorded ? "End" : "Now";
  const move = ({ currentTarget }: Event): void => {
    if (!(currentTarget instanceof HTMLInputElement)) return;
    const to = Number(currentTarget.value);
    playback.show(to >= Number(currentTarget.max) ? undefined : to);
    bar.changed();
  };
  return html`<footer class="time ${at === undefined ? "" : "past"}">
    ${playButtons(bar, span.from)}
    <label for="time">${at === undefined ? newest : clockTime(at)}</label>
    <input
      id="time"
      type="range"
      aria-label="Time that is shown"
      aria-valuetext=${at === undefined ? newest.toLowerCase() : clockTime(at)}
      min=${span.from}
      max=${span.from + stepMs * Math.ceil((until - span.from) / stepMs)}
      step=${stepMs}
      .value=${String(at ?? until + stepMs)}
      @input=${move}
    />
    <span class="quiet since">${clockTime(span.from)}</span>
    <button type="button" class="plain" ?disabled=${at === undefined} @click=${() => show(bar, undefined)}>
      ${isRecorded ? "To the end" : "Back to now"}
    </button>
  </footer>`;
}

function show({ playback, changed }: TimeBar, at: number | undefined): void {
  playback.show(at);
  changed();
}

function playButtons(bar: TimeBar, from: number): TemplateResult {
  const { playback, recording, changed } = bar;
  const { changes } = recording;
  const toggle = (): void => {
    if (playback.isPlaying) playback.pause();
    else playback.play(from, performance.now());
    changed();
  };
  const choose = ({ currentTarget }: Event): void => {
    if (currentTarget instanceof HTMLSelectElement) playback.speed = Number(currentTarget.value);
  };
  const jump = (words: string, sign: string, to: number | undefined): TemplateResult =>
    html`<button type="button" class="plain" aria-label=${words} title=${words} ?disabled=${to === undefined} @click=${() => show(bar, to)}>${sign}</button>`;
  return html`<div class="play" role="group" aria-label="Play what was seen">
    ${jump("First change", "|◂", changes?.first)}
    <button type="button" class="plain toggle" @click=${toggle}>${playback.isPlaying ? "Pause" : "Play"}</button>
    ${jump("Last change", "▸|", changes?.last)}
    <select aria-label="Speed" @change=${choose} .value=${String(playback.speed)}>
      ${speeds.map((speed) => html`<option value=${speed} ?selected=${speed === playback.speed}>${speed}×</option>`)}
    </select>
  </div>`;
}
