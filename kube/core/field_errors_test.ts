import t from "tap";
import { duplicate, formatFieldErrors, invalid, notSupported, required, tooLong, tooMany } from "./index.ts";

t.test("errors print as the API server prints them", (t) => {
  t.equal(formatFieldErrors([]), "");
  t.equal(formatFieldErrors([required("a.b")]), "a.b: Required value");
  t.equal(formatFieldErrors([invalid("a", 'x"y', "bad")]), 'a: Invalid value: "x\\"y": bad');
  t.equal(formatFieldErrors([invalid("a", -1, "bad")]), "a: Invalid value: -1: bad");
  t.equal(formatFieldErrors([invalid("a", { b: [1] }, "bad")]), 'a: Invalid value: {"b":[1]}: bad');
  t.equal(
    formatFieldErrors([notSupported("p", "X", ["A", "B"]), required("q", "why"), required("q", "why")]),
    '[p: Unsupported value: "X": supported values: "A", "B", q: Required value: why]',
  );
  t.equal(formatFieldErrors([duplicate("d", "x")]), 'd: Duplicate value: "x"');
  t.equal(formatFieldErrors([tooLong("l", 63)]), "l: Too long: may not be more than 63 bytes");
  t.equal(formatFieldErrors([tooMany("m", 3, 1)]), "m: Too many: 3: must have at most 1 item");
  t.end();
});
