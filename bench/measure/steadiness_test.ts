import t from "tap";
import { seededRandom } from "../../kube/index.ts";
import { BenchError } from "../errors.ts";
import { type Level, steadinessOf } from "./steadiness.ts";

const heap: Level = { name: "heap", unit: "MB", allowed: 2 };
const renewals: Level = { name: "renewals", unit: "a minute", allowed: 3, bothWays: true };
/** Twenty minutes, a sample every 20 s. */
const atMs = Array.from({ length: 60 }, (_, index) => index * 20_000);
const minutes = (ms: number): number => ms / 60_000;

function noisy(of: (atMs: number) => number, noise: number): number[] {
  const random = seededRandom(7);
  return atMs.map((at) => of(at) + (random() - 0.5) * noise);
}

t.test("level within its noise", async (t) => {
  const verdict = steadinessOf(
    heap,
    atMs,
    noisy(() => 40, 3),
  );
  t.ok(verdict.isSteady);
  t.ok(Math.abs(verdict.growth) < 2);
});

t.test("a leak is found, and its slope told", async (t) => {
  const verdict = steadinessOf(
    heap,
    atMs,
    noisy((at) => 40 + 0.2 * minutes(at), 1),
  );
  t.notOk(verdict.isSteady);
  t.ok(Math.abs(verdict.anHour - 12) < 0.5, `12 MB an hour, not ${verdict.anHour}`);
});

t.test("a leak of a handle a minute is found", async (t) => {
  const handles = { name: "open handles", unit: "", allowed: 3 };
  const values = atMs.map((at) => 40 + Math.floor(minutes(at)));
  t.notOk(steadinessOf(handles, atMs, values).isSteady);
});

t.test("what is filled at the beginning is no leak", async (t) => {
  const values = atMs.map((at) => 40 - 15 * Math.exp(-minutes(at)));
  t.ok(steadinessOf(heap, atMs, values).isSteady);
});

t.test("what shrinks is no leak, but renewals that become fewer are a fault", async (t) => {
  const falling = atMs.map((at) => 30 - 0.5 * minutes(at));
  t.ok(steadinessOf(heap, atMs, falling).isSteady);
  t.notOk(steadinessOf(renewals, atMs, falling).isSteady);
});

t.test("chance alone convicts nobody", async (t) => {
  const few = [0, 1, 2, 3, 4].map((index) => index * 20_000);
  const verdict = steadinessOf(heap, few, [40, 40, 48, 39, 48]);
  t.ok(verdict.growth > heap.allowed);
  t.ok(verdict.isSteady, "the line is less certain than that");
});

t.test("too few samples are no verdict", async (t) => {
  t.throws(() => steadinessOf(heap, [0, 1, 2, 3], [1, 1, 1, 1]), BenchError);
});
