import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import t from "tap";
import { type Frame, Screen } from "./screen.ts";
import { recordingSvg } from "./svg.ts";

const size = { columns: 20, rows: 3 };

async function linesAfter(...written: string[]) {
  const screen = new Screen(size);
  for (const bytes of written) await screen.write(bytes);
  return screen.lines();
}

const plain = { colour: undefined, isBold: false, isDim: false };

t.test("a screen shows what was written last: colours, columns, lines that were drawn again", async (t) => {
  t.same(await linesAfter("a \x1b[32mgreen\x1b[0m  b\r\n", "old\r\x1b[Knew"), [
    [
      { ...plain, column: 0, text: "a " },
      { ...plain, column: 2, text: "green  ", colour: 2 },
      { ...plain, column: 9, text: "b          " },
    ],
    [{ ...plain, column: 0, text: `new${" ".repeat(17)}` }],
    [],
  ]);
  t.match(await linesAfter("1\r\n2\r\n3\r\n", "\x1b[1m4"), [
    [{ text: /^2/ }],
    [{ text: /^3/ }],
    [{ text: /^4/, isBold: true }],
  ]);
});

const textOf = (svg: string): string[] =>
  [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text = ""]) =>
    text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&"),
  );

t.test("each frame has its lines, in its place of the strip, and its time", async (t) => {
  const word = fc
    .string({ minLength: 1, maxLength: 8 })
    .filter((text) => text.trim() === text && text !== "");
  const run = fc.record({
    text: word,
    column: fc.nat(10),
    colour: fc.option(fc.nat(15), { nil: undefined }),
    isBold: fc.boolean(),
    isDim: fc.boolean(),
  });
  const screens = fc.array(fc.array(fc.array(run, { maxLength: 2 }), { minLength: 3, maxLength: 3 }), {
    minLength: 1,
    maxLength: 5,
  });
  fc.assert(
    fc.property(screens, (given) => {
      const frames: Frame[] = given.map((lines, number) => ({ at: number * 500, lines }));
      const svg = recordingSvg(frames, size, 'a "title" & <more>');
      const drawn = new Map(
        [...svg.matchAll(/<g id="(l\d+)">(.*)<\/g>/g)].map(([, id, inside]) => [id, inside ?? ""]),
      );
      const used = [...svg.matchAll(/<use href="#(l\d+)" y="(\d+)"\/>/g)].map(([, id, y]) => ({
        row: Math.floor(Number(y) / 18),
        texts: textOf(drawn.get(id) ?? ""),
      }));
      const wanted = frames.flatMap(({ lines }, frame) =>
        lines.flatMap((line, row) =>
          line.length === 0 ? [] : [{ row: frame * size.rows + row, texts: line.map(({ text }) => text) }],
        ),
      );
      t.strictSame(used, wanted);
      t.equal([...svg.matchAll(/% \{ transform/g)].length, frames.length + 1);
      t.match(svg, /aria-label="a &quot;title&quot; &amp; &lt;more&gt;"/);
    }),
    { seed: 27, numRuns: 300 },
  );
});

t.test(
  "the recording that the README shows is small, loads nothing, and stands still where that is asked for",
  async (t) => {
    const svg = readFileSync(join(import.meta.dirname, "../../docs/terminal.svg"), "utf8");
    t.ok(svg.length < 200_000, `${svg.length} bytes`);
    t.notMatch(svg, /<script|https?:\/\/(?!www\.w3\.org\/2000\/svg|127\.0\.0\.1:)|<image/);
    t.match(svg, /prefers-reduced-motion/);
    const texts = textOf(svg).join("\n");
    for (const said of ["refit why clone/demo", "ImagePullBackOff", "roll out complete"])
      t.ok(texts.includes(said), said);
    t.notMatch(texts, /\/(root|home|tmp|work)\//, "no path of a machine");
  },
);
