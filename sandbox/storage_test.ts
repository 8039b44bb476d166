import fc from "fast-check";
import t from "tap";
import { Storage, type StoredChange } from "./storage.ts";

function storage(historyLimit = 1000) {
  const made = new Storage({ now: () => 0, historyLimit });
  const table = made.table({
    name: "things",
    namespaced: true,
    indexes: { color: (object) => String(object["color"] ?? "") },
  });
  return { made, table };
}

const thing = (name: string, color = "red", namespace = "a") => ({ metadata: { name, namespace }, color });

t.test("numbers all writes of all tables with one counter", (t) => {
  const { made, table } = storage();
  const other = made.table({ name: "others", namespaced: false, indexes: {} });
  const versions = [
    table.put(thing("x")).version,
    other.put({ metadata: { name: "o" } }).version,
    table.put(thing("x", "green")).version,
    table.remove("a", "x")?.version,
  ];
  t.same(versions, [2, 3, 4, 5]);
  t.equal(made.version, 5);
  t.end();
});

t.test("remembers every state as far back as the history reaches", (t) => {
  const name = fc.constantFrom("x", "y", "z");
  const step = fc.record({ name, remove: fc.boolean(), color: fc.constantFrom("red", "green") });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { made, table } = storage();
      const states: [version: number, state: string][] = [];
      for (const { name, remove, color } of steps) {
        if (remove) table.remove("a", name);
        else table.put(thing(name, color));
        states.push([made.version, JSON.stringify(table.list("a").map((revision) => revision.object))]);
      }
      for (const [version, state] of states) {
        const then = table.listAt(version, "a")?.map((revision) => revision.object);
        if (JSON.stringify(then) !== state) return false;
      }
      return true;
    }),
    { seed: 11 },
  );
  t.pass("holds for random writes");
  t.end();
});

t.test("forgets what is older than the limit", (t) => {
  const { table } = storage(5);
  for (let at = 0; at < 10; at++) table.put(thing(`x${at}`));
  t.equal(table.changesAfter(1), undefined);
  t.equal(table.listAt(1), undefined);
  t.equal(table.changesAfter(table.forgottenVersion)?.length, 5);
  t.end();
});

t.test("tells listeners in order, even of writes that listeners make", (t) => {
  const { table } = storage();
  const seen: string[] = [];
  table.subscribe({
    onChange({ type, current }) {
      seen.push(`${type} ${current.name}`);
      if (current.name === "first") table.put(thing("second"));
    },
  });
  table.subscribe({ onChange: ({ current }) => seen.push(`then ${current.name}`) });
  table.put(thing("first"));
  t.same(seen, ["ADDED first", "then first", "ADDED second", "then second"]);
  t.end();
});

t.test("finds and watches by index, also when the value changes", (t) => {
  const { table } = storage();
  const seen: StoredChange["type"][] = [];
  table.subscribe({ index: { name: "color", value: "red" }, onChange: ({ type }) => seen.push(type) });
  table.put(thing("x"));
  table.put(thing("y", "green"));
  table.put(thing("x", "green"));
  table.put(thing("x", "blue"));
  t.same(seen, ["ADDED", "MODIFIED"]);
  t.same(
    table.listIndexed("color", "green")?.map((revision) => revision.name),
    ["y"],
  );
  t.same(table.listIndexed("color", "red"), []);
  t.end();
});
