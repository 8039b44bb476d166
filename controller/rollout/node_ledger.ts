/** What each node counts as, with the sums of all: kept up node by node, so that no sum needs all nodes. */

/** What a node counts as; equal ones are the same object, because thousands of nodes share a few of them. */
interface Standing<Group extends string, Key extends string> {
  readonly group: Group;
  readonly counts: Counts<Key>;
}

type Counts<Key extends string> = Readonly<Record<Key, number>>;

export class NodeLedger<Group extends string, Key extends string> {
  readonly #zero: Counts<Key>;
  readonly #standings = new Map<string, Standing<Group, Key>>();
  readonly #known = new Map<string, Standing<Group, Key>>();
  #totals: Counts<Key>;

  constructor(zero: Counts<Key>) {
    this.#zero = zero;
    this.#totals = zero;
  }

  get totals(): Counts<Key> {
    return this.#totals;
  }

  /** Nodes that count as something. */
  names(): Iterable<string> {
    return this.#standings.keys();
  }

  groupOf(name: string): Group | undefined {
    return this.#standings.get(name)?.group;
  }

  enter(name: string, group: Group, counts: Counts<Key>): void {
    const standing = this.#standing(group, counts);
    if (this.#standings.get(name) === standing) return;
    this.leave(name);
    this.#standings.set(name, standing);
    this.#totals = sum(this.#totals, counts, 1);
  }

  leave(name: string): void {
    const before = this.#standings.get(name);
    if (before === undefined) return;
    this.#standings.delete(name);
    this.#totals = sum(this.#totals, before.counts, -1);
  }

  clear(): void {
    this.#standings.clear();
    this.#totals = this.#zero;
  }

  #standing(group: Group, counts: Counts<Key>): Standing<Group, Key> {
    const key = `${group} ${Object.values(counts).join(" ")}`;
    let standing = this.#known.get(key);
    if (standing === undefined) {
      standing = { group, counts };
      this.#known.set(key, standing);
    }
    return standing;
  }
}

function sum<Key extends string>(a: Counts<Key>, b: Counts<Key>, times: 1 | -1): Counts<Key> {
  const total: Record<Key, number> = { ...a };
  for (const key in b) total[key] += times * b[key];
  return total;
}
