import fc from "fast-check";
import t from "tap";
import { jsonEqual } from "../../kube/core/index.ts";
import {
  formatInjectedList,
  formatInjectedSidecars,
  formatSidecarsBeforeUpdate,
  formatWorkingContainers,
  parseInjectedList,
  parseInjectedSidecars,
  parseSidecarsBeforeUpdate,
  parseWorkingContainers,
} from "./pod_annotations.ts";

t.test("entries of a hash annotation, byte for byte", async (t) => {
  const text =
    '{"a":{"updateTimestamp":"2026-01-01T00:00:00Z","hash":"h","sidecarSetName":"a","sidecarList":["c1","c2"],"controllerRevision":"a-5"},' +
    '"b":{"updateTimestamp":"2026-01-01T00:00:00Z","hash":"<","sidecarSetName":"b","sidecarList":[]}}';
  const entries = parseInjectedSidecars(text);
  t.match(entries?.get("a"), { hash: "h", sidecarList: ["c1", "c2"], controllerRevision: "a-5" });
  t.equal(formatInjectedSidecars(new Map([...(entries ?? [])].reverse())), text.replace("<", "\\u003c"));
  t.strictSame(parseInjectedSidecars('{"a":"old"}')?.get("a"), {
    updateTimestamp: "",
    hash: "old",
    sidecarSetName: "a",
    sidecarList: undefined,
  });
  const absent = '{"a":{"updateTimestamp":"t","hash":"h","sidecarSetName":"a","sidecarList":null}}';
  const shown = (text: string) => formatInjectedSidecars(parseInjectedSidecars(text) ?? new Map());
  t.equal(shown(absent), absent, "a list that is not told is null, as Go writes it, and not an empty one");
  t.equal(shown(absent.replace(',"sidecarList":null', "")), absent);
});

t.test("sets, working containers and what ran before an update", async (t) => {
  t.strictSame(parseInjectedList("a,b"), ["a", "b"]);
  t.strictSame(parseInjectedList(""), []);
  t.equal(formatInjectedList(["b", "a", "b"]), "a,b");
  t.equal(formatWorkingContainers(new Map([["mesh", "mesh-1"]])), '{"mesh":"mesh-1"}');
  t.equal(parseWorkingContainers('{"mesh":"mesh-1","x":1}')?.size, 1);
  const state =
    '{"s":{"revision":"h","updateTimestamp":"t","lastContainerStatuses":{"c1":{"imageID":"i"},"c2":{"imageID":""}}}}';
  const parsed = parseSidecarsBeforeUpdate(state);
  t.equal(parsed?.get("s")?.lastContainerStatuses.get("c1")?.imageID, "i");
  t.equal(formatSidecarsBeforeUpdate(parsed ?? new Map()), state);
});

t.test("what is absent is empty, what is no annotation of ours is distinguished", async (t) => {
  for (const parse of [parseInjectedSidecars, parseWorkingContainers, parseSidecarsBeforeUpdate]) {
    t.equal(parse(undefined)?.size, 0);
    t.equal(parse("")?.size, 0);
    for (const garbage of ["{", "[]", "1", "null", '"a"']) t.equal(parse(garbage), undefined, garbage);
    t.equal(parse('{"a":null,"b":[1],"c":7}')?.size, 0);
  }
});

t.test("what is written is read again, and anything can be read", async (t) => {
  const word = fc.stringMatching(/^[a-z_]{1,12}$/);
  const entry = fc.record({
    updateTimestamp: word,
    hash: word,
    sidecarList: fc.array(word, { maxLength: 3 }),
    controllerRevision: word,
  });
  const entries = fc
    .uniqueArray(fc.tuple(word, entry), { selector: ([name]) => name, maxLength: 4 })
    .map((pairs) => new Map(pairs.map(([name, value]) => [name, { ...value, sidecarSetName: name }])));
  const written = fc.property(entries, (entries) => {
    const text = formatInjectedSidecars(entries);
    const again = parseInjectedSidecars(text);
    return again !== undefined && jsonEqual(Object.fromEntries(again), Object.fromEntries(entries));
  });
  const anything = fc.property(fc.json(), (text) => {
    return (
      isStable(text, parseInjectedSidecars, formatInjectedSidecars) &&
      isStable(text, parseSidecarsBeforeUpdate, formatSidecarsBeforeUpdate) &&
      isStable(text, parseWorkingContainers, formatWorkingContainers)
    );
  });
  t.doesNotThrow(() => fc.assert(written, { seed: 5, numRuns: 300 }));
  t.doesNotThrow(() => fc.assert(anything, { seed: 6, numRuns: 500 }));
});

function isStable<T>(
  text: string,
  parse: (text: string) => Map<string, T> | undefined,
  format: (entries: ReadonlyMap<string, T>) => string,
): boolean {
  const parsed = parse(text);
  if (parsed === undefined) return true;
  const written = format(parsed);
  const again = parse(written);
  return again !== undefined && format(again) === written;
}
