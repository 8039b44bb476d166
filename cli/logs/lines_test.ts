import t from "tap";
import { LogPlace, linesOf } from "./lines.ts";

const line = (time: string, text = "x") => ({ time: `2026-01-01T00:00:${time}`, text });

async function read(...chunks: (Uint8Array | Error)[]): Promise<string[]> {
  const texts: string[] = [];
  async function* stream() {
    for (const chunk of chunks) {
      if (chunk instanceof Error) throw chunk;
      yield chunk;
    }
  }
  try {
    for await (const { time, text } of linesOf(stream())) texts.push(`${time}|${text}`);
  } catch {
    texts.push("broken");
  }
  return texts;
}

t.test("lines are whole over chunks; the rest counts when the stream ends, not when it breaks", async (t) => {
  const bytes = Buffer.from(
    "2026-01-01T00:00:01.5Z grüße\n2026-01-01T01:00:02+01:00 two\n2026-01-01T00:00:03Z",
  );
  const [first, second] = [bytes.subarray(0, 26), bytes.subarray(26)];
  const whole = ["2026-01-01T00:00:01.5Z|grüße", "2026-01-01T01:00:02+01:00|two"];
  t.same(await read(first, second), [...whole, "2026-01-01T00:00:03Z|"]);
  t.same(await read(first, second, new Error("cut")), [...whole, "broken"]);
  t.same(await read(Buffer.from("unable to read\n\n")), ["|unable to read", "|"], "what has no time");
});

t.test("what comes once more is left out, also several lines of one time", (t) => {
  const place = new LogPlace();
  t.equal(place.time, undefined);
  const first = place.reading();
  for (const time of ["01.1Z", "01.2Z", "01.2Z"]) t.ok(first(line(time)), time);
  t.equal(place.time, "2026-01-01T00:00:01.2Z");
  const second = place.reading();
  const expected = [
    ["01.100000000Z", false],
    ["01.2Z", false],
    ["01.200000000Z", false],
    ["01.2Z", true],
    ["01.300000001Z", true],
    // A clock that was set back does not hide lines that come after a new one.
    ["00.9Z", true],
  ] as const;
  for (const [time, isNew] of expected) t.equal(second(line(time)), isNew, time);
  t.equal(place.time, "2026-01-01T00:00:00.9Z");
  t.ok(place.reading()({ time: "", text: "the kubelet says something" }));
  t.end();
});

t.test("times of two zones are the same time", (t) => {
  const place = new LogPlace();
  place.reading()({ time: "2026-01-01T00:00:01.25Z", text: "" });
  t.notOk(place.reading()({ time: "2026-01-01T01:00:01.25+01:00", text: "" }));
  t.end();
});
