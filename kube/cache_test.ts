import fc from "fast-check";
import t from "tap";
import { Cache, type Change, compareVersions } from "./cache.ts";

interface Thing {
  name: string;
  uid: string;
  version: string;
  owner: string;
}

const thing = (name: string, version: number, owner = "a", uid = `uid-${name}`): Thing => ({
  name,
  uid,
  version: String(version),
  owner,
});

function thingCache(tombstones?: number): Cache<Thing> {
  return new Cache<Thing>({
    identify: (each) => ({ key: each.name, uid: each.uid, version: each.version }),
    indexes: { owner: (each) => (each.owner === "" ? [] : [each.owner]) },
    ...(tombstones === undefined ? {} : { tombstones }),
  });
}

function recorded(cache: Cache<Thing>): string[] {
  const reported: string[] = [];
  cache.subscribe((change: Change<Thing>) => {
    const before = change.type === "changed" ? `${change.before.version}->` : "";
    reported.push(`${change.type} ${change.object.name} ${before}${change.object.version}`);
  });
  return reported;
}

t.test("versions order by number, not by text", async (t) => {
  t.ok(compareVersions("9", "10") < 0);
  t.ok(compareVersions("10", "9") > 0);
  t.equal(compareVersions("10", "10"), 0);
  t.ok(compareVersions("18446744073709551615", "18446744073709551614") > 0, "beyond the range of doubles");
  t.ok(compareVersions("abc", "12") > 0, "an opaque version counts as newer");
});

t.test("older and equal versions are ignored, newer ones are reported with what was before", async (t) => {
  const cache = thingCache();
  const reported = recorded(cache);
  t.ok(cache.upsert(thing("x", 5)));
  t.notOk(cache.upsert(thing("x", 4)));
  t.notOk(cache.upsert(thing("x", 5)));
  t.ok(cache.writeBack(thing("x", 10)));
  t.same(reported, ["added x 5", "changed x 5->10"]);
});

t.test("a late event does not bring back what a delete answer removed", async (t) => {
  const cache = thingCache();
  const reported = recorded(cache);
  cache.upsert(thing("x", 5));
  t.ok(cache.remove("x", "uid-x"));
  t.notOk(cache.upsert(thing("x", 6)), "the deleting object of the watch comes late");
  t.notOk(cache.remove("x", "uid-x"), "its DELETED event changes nothing");
  t.ok(cache.upsert(thing("x", 7, "a", "uid-second")), "a new object of the same name is welcome");
  t.same(reported, ["added x 5", "removed x 5", "added x 7"]);
});

t.test("a delete answer that comes before the object's first event keeps it out", async (t) => {
  const cache = thingCache();
  cache.remove("x", "uid-x");
  t.notOk(cache.upsert(thing("x", 3)));
  t.equal(cache.size, 0);
});

t.test("another UID under the same name is a removal and an addition", async (t) => {
  const cache = thingCache();
  const reported = recorded(cache);
  cache.upsert(thing("x", 5));
  cache.upsert(thing("x", 9, "b", "uid-second"));
  t.notOk(cache.upsert(thing("x", 12)), "the first object stays gone");
  t.notOk(cache.remove("x", "uid-x"), "and its DELETED event does not take the second");
  t.same(reported, ["added x 5", "removed x 5", "added x 9"]);
  t.same([...cache.byIndex("owner", "a")], []);
  t.equal([...cache.byIndex("owner", "b")].length, 1);
});

t.test("a relist tells differences only and keeps what was written after it", async (t) => {
  const cache = thingCache();
  cache.upsert(thing("same", 5));
  cache.upsert(thing("changed", 6));
  cache.upsert(thing("gone", 7));
  cache.writeBack(thing("fresh", 30));
  const reported = recorded(cache);
  cache.replaceAll([thing("same", 5), thing("changed", 18), thing("new", 19)], "20");
  t.same(reported, ["changed changed 6->18", "added new 19", "removed gone 7"]);
  t.ok(cache.get("fresh"));
});

t.test("an unknown index is named in the error", async (t) => {
  t.throws(() => thingCache().byIndex("node", "n1"), /no index "node".*owner/);
});

t.test("whatever the order in which a watch tells of an object, the newest state of it counts", async (t) => {
  const cache = thingCache();
  cache.upsert(thing("x", 5));
  t.ok(cache.remove("x", "uid-x", "9"));
  t.notOk(cache.upsert(thing("x", 8)), "what came before its removal comes after it");
  t.ok(cache.upsert(thing("x", 12)), "it is selected again");
  t.notOk(cache.remove("x", "uid-x", "10"), "a removal in between comes late");
  t.equal(cache.get("x")?.version, "12");
  cache.replaceAll([], "15");
  t.notOk(cache.upsert(thing("x", 14)));
  t.ok(cache.upsert(thing("x", 16)));
});

t.test("what is not kept any more does not come back by what was written before", async (t) => {
  const cache = new Cache<Thing>({
    identify: (each) => ({ key: each.name, uid: each.uid, version: each.version }),
    keep: ({ owner }) => owner !== "",
  });
  cache.upsert(thing("x", 5));
  t.ok(cache.upsert(thing("x", 9, "")));
  t.notOk(cache.writeBack(thing("x", 8)), "the answer to a write comes late");
  t.ok(cache.upsert(thing("x", 12)), "it is of interest again");
});

t.test("removed UIDs are remembered up to a bound", async (t) => {
  const cache = thingCache(2);
  for (const name of ["a", "b", "c"]) {
    cache.upsert(thing(name, 1));
    cache.remove(name, `uid-${name}`);
  }
  t.ok(cache.upsert(thing("a", 2)), "the oldest was forgotten");
  t.notOk(cache.upsert(thing("c", 2)));
});

t.test("property: indexes and changes agree with the objects held", async (t) => {
  const step = fc.record({
    name: fc.constantFrom("p", "q", "r"),
    uid: fc.constantFrom("1", "2"),
    version: fc.integer({ min: 1, max: 40 }),
    owner: fc.constantFrom("", "a", "b"),
    verb: fc.constantFrom("upsert", "upsert", "upsert", "remove", "relist"),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const cache = thingCache();
      const mirror = new Map<string, Thing>();
      cache.subscribe((change) => {
        const held = mirror.get(change.object.name);
        if (change.type === "added" && held) throw new Error("added twice");
        if (change.type === "changed" && held !== change.before)
          throw new Error("before is not what was reported last");
        if (change.type === "removed") mirror.delete(change.object.name);
        else mirror.set(change.object.name, change.object);
      });
      for (const { name, uid, version, owner, verb } of steps) {
        const object = thing(name, version, owner, uid);
        if (verb === "upsert") cache.upsert(object);
        else if (verb === "remove") cache.remove(name, uid);
        else cache.replaceAll([object], String(version));
        for (const value of ["a", "b"]) {
          const indexed = new Set(cache.byIndex("owner", value));
          const expected = [...cache.values()].filter((each) => each.owner === value);
          if (indexed.size !== expected.length || !expected.every((each) => indexed.has(each))) return false;
        }
        if (mirror.size !== cache.size || [...cache.values()].some((each) => mirror.get(each.name) !== each))
          return false;
      }
      return true;
    }),
    { seed: 20_261_120, numRuns: 500 },
  );
  t.pass("held in all runs");
});

t.test("an index that comes later finds what was held and what follows", async (t) => {
  const cache = thingCache();
  const initial = (each: Thing) => [each.name.slice(0, 1)];
  cache.upsert(thing("ant", 1));
  cache.addIndex("initial", initial);
  cache.upsert(thing("ape", 2));
  t.same([...cache.byIndex("initial", "a")].map((each) => each.name).sort(), ["ant", "ape"]);
  cache.addIndex("initial", initial);
  t.throws(() => cache.addIndex("initial", () => []), /made by another function/);
  cache.remove("ant", "uid-ant");
  t.same(
    [...cache.byIndex("initial", "a")].map((each) => each.name),
    ["ape"],
  );
});

t.test(
  "a cache that joins another reports what is there, with its own indexes, and what follows",
  async (t) => {
    const first = thingCache();
    const reported = recorded(first);
    first.upsert(thing("x", 5));
    first.remove("gone", "uid-gone");
    const second = thingCache();
    second.addIndex("initial", (each) => [each.name.slice(0, 1)]);
    const later = recorded(second);
    second.join(first);
    t.same(later, ["added x 5"]);
    t.equal([...second.byIndex("initial", "x")].length, 1);
    t.throws(() => first.byIndex("initial", "x"), /no index/);
    t.notOk(second.upsert(thing("gone", 6)), "what was removed before stays removed");
    t.ok(second.writeBack(thing("x", 8, "b")));
    t.equal(first.get("x"), second.get("x"), "one object for both");
    t.same(reported, ["added x 5", "changed x 5->8"]);
    t.same(later, ["added x 5", "changed x 5->8"]);
    t.equal([...first.byIndex("owner", "b")].length, 1);
    t.equal([...first.byIndex("owner", "a")].length, 0);

    second.leave();
    first.remove("x", "uid-x");
    t.equal(second.get("x")?.version, "8", "it keeps what it had");
    t.equal([...second.byIndex("initial", "x")].length, 1);
    t.ok(second.writeBack(thing("x", 9)));
    t.equal(first.size, 0, "and has nothing to do with the other any more");
    t.same(reported, ["added x 5", "changed x 5->8", "removed x 8"]);
    t.same(later, ["added x 5", "changed x 5->8", "changed x 8->9"]);
  },
);

/** A cache that joins, and one of its own that is told the same. */
class Follower {
  readonly joining = thingCache();
  readonly separate = thingCache();
  readonly #reports = [recorded(this.joining), recorded(this.separate)];
  isThere = false;

  /** `removed`: all that was ever removed from `all`, which caches that join remember. */
  join(all: Cache<Thing>, removed: readonly Thing[]): void {
    for (const { name, uid, version } of removed) this.separate.remove(name, uid, version);
    this.separate.replaceAll(all.values(), "0");
    this.joining.join(all);
    this.isThere = true;
  }

  leave(): void {
    this.joining.leave();
    this.isThere = false;
  }

  get agrees(): boolean {
    const shown = [this.joining, this.separate].map((cache) => {
      const lists = [cache.values(), cache.byIndex("owner", "a"), cache.byIndex("owner", "b")];
      return JSON.stringify(lists.map((list) => [...list].sort((a, b) => (a.name < b.name ? -1 : 1))));
    });
    return shown[0] === shown[1] && this.#reports[0]?.join() === this.#reports[1]?.join();
  }
}

t.test("property: caches that join and leave report and find what caches of their own would", async (t) => {
  const change = fc.record({
    verb: fc.constantFrom("upsert", "upsert", "remove", "relist", "write", "write"),
    by: fc.nat(3),
    things: fc.array(
      fc
        .record({
          name: fc.constantFrom("p", "q", "r"),
          uid: fc.constantFrom("1", "2", "3"),
          version: fc.integer({ min: 1, max: 60 }),
          owner: fc.constantFrom("", "a", "b"),
        })
        .map(({ name, uid, version, owner }) => thing(name, version, owner, name + uid)),
      { minLength: 1, maxLength: 3 },
    ),
  });
  const move = fc.record({ verb: fc.constantFrom("join", "leave"), by: fc.nat(3) });
  const history = fc.array(fc.oneof({ weight: 4, arbitrary: change }, move), { maxLength: 80, size: "max" });
  fc.assert(
    fc.property(history, (steps) => {
      const all = thingCache();
      const removed: Thing[] = [];
      let list: readonly Thing[] | undefined;
      all.subscribe(({ type, object }) => {
        if (type !== "removed") return;
        // What another one of its name took the place of never comes back.
        const isReplaced = list?.some(({ name }) => name === object.name) ?? true;
        removed.push({ ...object, version: isReplaced ? "" : (list?.[0]?.version ?? "") });
      });
      const followers = [0, 1, 2, 3].map(() => new Follower());
      for (const step of steps) {
        const one = followers[step.by] ?? new Follower();
        if (!("things" in step)) {
          if (step.verb === "leave") one.leave();
          else if (!one.isThere) {
            followers[step.by] = new Follower();
            followers[step.by]?.join(all, removed);
          }
        } else {
          const { verb, things } = step;
          const [first = thing("p", 1)] = things;
          const act = (cache: Cache<Thing>): void => {
            if (verb === "relist") cache.replaceAll(things, first.version);
            else if (verb === "remove") cache.remove(first.name, first.uid);
            else cache.upsert(first);
          };
          list = verb === "relist" ? things : undefined;
          // Who is not there writes for itself alone; what anybody else writes, all take.
          act(verb === "write" ? one.joining : all);
          const told = verb !== "write" || one.isThere ? followers.filter(({ isThere }) => isThere) : [one];
          for (const { separate } of told) act(separate);
          if (verb === "remove") removed.push({ ...first, version: "" });
        }
        if (!followers.every(({ agrees }) => agrees)) return false;
      }
      return true;
    }),
    { seed: 20_261_125, numRuns: 500 },
  );
  t.pass("held in all runs");
});
