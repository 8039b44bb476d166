/** What is recorded, and that the file holds nothing that a browser takes for more than data. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { hostileTexts, workload } from "../../../testkit/cli/page_items_builder.ts";
import { pageAssets } from "../http/assets.ts";
import type { Item } from "../shared/items.ts";
import { type RecordedLine, readBlocks } from "../shared/recorded.ts";
import { chooseFollowed, mostUndone } from "./recorder.ts";
import { blockOf, blocksIn, documentWithData, recordingDocument } from "./recording_document.ts";
import { RecordingFile } from "./recording_file.ts";

const lineOf = (text: string, at = 1): RecordedLine => ({
  feed: text,
  change: { at, put: [[text, workload({ name: text, reasonText: text })]], gone: [text] },
});

t.test("hostile texts come back as they were, and the file shows none of them", async (t) => {
  const document = recordingDocument(await pageAssets(), "nonce");
  const lines = hostileTexts.map((text) => lineOf(text));
  const file = document + blockOf(lines);
  t.strictSame(await readBlocks(blocksIn(file)), lines);
  const added = file.slice(document.length);
  t.match(added, /^<script type="application\/x-refit-recording-1">[A-Za-z0-9+/=]+<\/script>\n$/);
});

t.test(
  "every script and style of the document has its nonce, and none has an address elsewhere",
  async (t) => {
    const document = recordingDocument(await pageAssets(), "the-nonce");
    const loading = [...document.matchAll(/<(?:script|link)[^>]*>/g)].map(([tag]) => tag);
    t.equal(loading.length, 4, "the map of modules, the icon, the style, the script");
    for (const tag of loading) t.match(tag, / nonce="the-nonce"/);
    for (const [, address = ""] of document.matchAll(/(?:href|src)="([^"]*)"/g)) t.match(address, /^data:/);
    t.match(
      document,
      /content="default-src 'none'; script-src 'nonce-the-nonce'; style-src 'nonce-the-nonce'/,
    );
  },
);

t.test("a file cut anywhere gives all blocks before the cut", async (t) => {
  const blocks = ["first", "second", "third"].map((text, at) => blockOf([lineOf(text, at)]));
  const whole = blocks.join("");
  const lastStart = whole.length - (blocks.at(-1)?.length ?? 0);
  for (let end = lastStart; end < whole.length; end++) {
    // As a browser reads it: an element that has no end goes to the end of the file.
    const cut = whole
      .slice(0, end)
      .split("<script")
      .slice(1)
      .map((each) => each.replace(/^[^>]*>?/, "").replace(/<.*/s, ""));
    const read = await readBlocks(cut);
    t.ok(read.length === 2 || read.length === 3, `${read.length} lines of ${end} bytes`);
    t.strictSame(read.slice(0, 2), [lineOf("first", 0), lineOf("second", 1)]);
  }
});

t.test("of a foreign file nothing but data is served", async (t) => {
  const assets = await pageAssets();
  const foreign = `<script>attacked()</script><script type="application/x-refit-recording-1"><b>x</b></script>
    <script type="application/x-refit-recording-1" onload="attacked()">AAAA</script>${blockOf([lineOf("kept")])}`;
  const served = documentWithData(assets, blocksIn(foreign));
  t.notMatch(served, /attacked|<b>/);
  t.strictSame(await readBlocks(blocksIn(served)), [lineOf("kept")]);
});

t.test("a file ends at its largest size and says so, and is for its owner alone", async (t) => {
  const path = join(t.testdir(), "recording.html");
  const file = await RecordingFile.create(path, "<!doctype html>\n", 2_000);
  t.equal(statSync(path).mode & 0o777, 0o600);
  let written = 0;
  while (await file.write([lineOf(`line ${written}`)])) written++;
  t.ok(written > 1, `${written} lines fit`);
  t.equal(await file.write([lineOf("late")]), false);
  await file.end("stopped");
  const lines = await readBlocks(blocksIn(readFileSync(path, "utf8")));
  t.equal(lines.length, written + 1);
  t.strictSame(lines.at(-1), { end: "full" });
  t.ok(statSync(path).size <= 2_000);
});

t.test("a file that is there is not written over", async (t) => {
  const folder = t.testdir({ "old.html": "old" });
  const path = join(folder, "old.html");
  await t.rejects(RecordingFile.create(path, ""), {
    message: `cannot record to ${path}: there is such a file already; choose another name`,
  });
  t.equal(readFileSync(path, "utf8"), "old");
  const nowhere = join(folder, "none", "x.html");
  await t.rejects(RecordingFile.create(nowhere, ""), { message: /there is no such file or folder$/ });
  t.notOk(existsSync(nowhere));
});

t.test("followed are those that are not done and those that were opened", async (t) => {
  const fleet = new Map<string, Item>([["cluster", { is: "cluster", isComplete: true, problems: [] }]]);
  const chosen = (followed: readonly string[], opened: readonly string[] = []): string[] => [
    ...chooseFollowed(fleet, new Set(followed), new Set(opened)),
  ];
  fleet.set("done", workload({ state: "done" }));
  fleet.set("moves", workload());
  t.strictSame(chosen([]), ["moves"]);
  t.strictSame(chosen([], ["done", "gone"]), ["done", "moves"]);
  t.strictSame(chosen(["done"]), ["moves", "done"], "what has become done stays");
  for (let number = 0; number < mostUndone; number++) fleet.set(`more-${number}`, workload());
  t.notOk(chosen(["done"]).includes("done"), "until its place is needed");
  t.equal(chosen(["more-19"]).length, mostUndone);
  t.equal(chosen(["more-19"])[0], "more-19", "what is followed keeps its place");
});
