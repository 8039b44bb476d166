import t from "tap";
import { refusal } from "./status.ts";

const nothing = new Uint8Array();

t.test("whether what was refused may have been carried out all the same", async (t) => {
  for (const status of [500, 502, 503, 504])
    t.equal(refusal("POST pods", status, {}, nothing).ambiguous, true, `${status}: the store may have it`);
  for (const status of [400, 403, 404, 409, 422, 429])
    t.equal(refusal("POST pods", status, {}, nothing).ambiguous, false, `${status}: it is said why not`);
  t.equal(refusal("POST pods", 503, { "retry-after": "1" }, nothing).ambiguous, false, "it was not begun");
});
