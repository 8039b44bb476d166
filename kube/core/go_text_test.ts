import t from "tap";
import { utf8Length } from "./go_text.ts";

t.test("texts are measured in bytes, as the API server does", (t) => {
  for (const [text, bytes] of [
    ["", 0],
    ["web-0", 5],
    ["a\u007f", 2],
    ["web-\u00e9", 6],
    ["\u20ac", 3],
    ["a\u{1f600}", 5],
    ["\ud83d", 3],
  ] as const)
    t.equal(utf8Length(text), bytes, JSON.stringify(text));
  t.end();
});
