import { readFileSync } from "node:fs";
import t from "tap";
import { messagesOf, warnings } from "./warnings.ts";

t.test("messages are found however they are written", async (t) => {
  t.same(messagesOf('this.#log.warn("one", { error });'), ["one"]);
  t.same(messagesOf('log.warn(\n  "two",\n);'), ["two"]);
  t.same(messagesOf('log.warn(isLeader ? "a" : "b", { error });'), ["a", "b"]);
  t.same(messagesOf('const text = "old";\nconst text = "new, long";\nlog.warn(text, {});'), ["new, long"]);
});

t.test("operations.md explains each line of level WARN, and no other", async (t) => {
  const page = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");
  const section = /<!-- warnings -->([\s\S]*)<!-- end of warnings -->/.exec(page)?.[1] ?? "";
  const explained = [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, message]) => message);
  const written = new Set(warnings().map(({ message }) => message));
  t.ok(written.size > 20);
  t.same([...explained].sort(), [...written].sort());
});
