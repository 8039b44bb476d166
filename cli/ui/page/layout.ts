/** Where each pod of the grid is: pure, so that a pointer finds the pod that was drawn. */

/** What of a pod its place depends on. */
export interface PlacedPod {
  readonly key: string;
  readonly group: string;
}

export interface Cell {
  readonly key: string;
  /** Of its pod among those that were given. */
  readonly index: number;
  readonly x: number;
  readonly y: number;
}

export interface Label {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

export interface Layout {
  readonly cells: readonly Cell[];
  readonly labels: readonly Label[];
  /** Edge of a cell with its gap. */
  readonly step: number;
  readonly height: number;
}

const labelHeight = 18;
const groupGap = 14;
const leastLabelled = 84;

/** Groups stand in columns of one width, in the order of the pods that are given. */
export function layoutOf(pods: readonly PlacedPod[], width: number): Layout {
  const groups = Map.groupBy(pods.keys(), (index) => pods[index]?.group ?? "");
  const most = Math.max(1, ...[...groups.values()].map((group) => group.length));
  const isLabelled = groups.size > 1 && groups.size <= 160;
  const step = stepFor(pods.length);
  const wanted = groups.size === 1 ? Math.floor(width / step) : Math.ceil(Math.sqrt(most * 2.2));
  const least = isLabelled ? Math.ceil(leastLabelled / step) : 1;
  const across = Math.max(1, Math.min(Math.max(wanted, least), Math.floor(width / step)));
  const groupWidth = across * step + groupGap;
  const columns = Math.max(1, Math.floor((width + groupGap) / groupWidth));
  const cells: Cell[] = [];
  const labels: Label[] = [];
  let [column, top, rowHeight] = [0, 0, 0];
  for (const [text, members] of groups) {
    if (column === columns) {
      top += rowHeight;
      [column, rowHeight] = [0, 0];
    }
    const left = column * groupWidth;
    const start = top + (isLabelled ? labelHeight : 0);
    if (isLabelled) labels.push({ text, x: left, y: top, width: across * step });
    for (const [place, index] of members.entries()) {
      const [x, y] = [left + (place % across) * step, start + Math.floor(place / across) * step];
      cells.push({ key: pods[index]?.key ?? "", index, x, y });
    }
    const rows = Math.ceil(members.length / across);
    rowHeight = Math.max(rowHeight, start - top + rows * step + groupGap);
    column++;
  }
  return { cells, labels, step, height: Math.max(step, top + rowHeight - groupGap) };
}

/** Whether the layout of one is that of the other. */
export function isSamePlaces(a: readonly PlacedPod[], b: readonly PlacedPod[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ key, group }, index) => key === b[index]?.key && group === b[index]?.group)
  );
}

function stepFor(count: number): number {
  if (count <= 60) return 30;
  if (count <= 300) return 22;
  if (count <= 1_500) return 15;
  return count <= 5_000 ? 11 : 9;
}

/** The index of the cell under a point, or -1. */
export function cellAt({ cells, step }: Layout, x: number, y: number): number {
  return cells.findIndex((cell) => x >= cell.x && x < cell.x + step && y >= cell.y && y < cell.y + step);
}

/** The nearest cell in a direction: where the arrow keys lead. */
export function neighbour({ cells }: Layout, from: number, dx: number, dy: number): number {
  const here = cells[from];
  if (here === undefined) return cells.length > 0 ? 0 : -1;
  let best = from;
  let least = Number.POSITIVE_INFINITY;
  for (const [index, { x, y }] of cells.entries()) {
    const along = (x - here.x) * dx + (y - here.y) * dy;
    if (along <= 0) continue;
    const aside = Math.abs((x - here.x) * dy) + Math.abs((y - here.y) * dx);
    if (along + 3 * aside >= least) continue;
    [best, least] = [index, along + 3 * aside];
  }
  return best;
}
