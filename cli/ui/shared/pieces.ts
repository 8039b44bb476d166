/** A whole state in pieces, so that a page can show the first of it before the last has come. */
import type { Change } from "./differences.ts";

/** A change, or a part of a whole state. Between the pieces of one state nothing else comes. */
export interface Piece<T> extends Change<T> {
  /** Items of the whole state that come in later pieces; absent in the last one, and where there are no pieces. */
  readonly rest?: number;
}

/** Some 100 kB of pods. */
const mostItemsOfPiece = 500;

/**
 * The change itself, or the pieces of a whole state, each of at most so many items. What `isMany` does not hold for is in the first
 * one, however much it is.
 */
export function piecesOf<T>(
  change: Change<T>,
  isMany: (item: T) => boolean,
  most = mostItemsOfPiece,
): readonly Piece<T>[] {
  const { at, isWhole, put } = change;
  if (!isWhole || put.length <= most) return [change];
  const few = put.filter(([, item]) => !isMany(item));
  const items = [...few, ...put.filter(([, item]) => isMany(item))];
  const pieces: Piece<T>[] = [];
  for (let from = 0; from < items.length; ) {
    const until = Math.max(from + most, few.length);
    const rest = Math.max(0, items.length - until);
    const first = from === 0 ? { isWhole } : {};
    pieces.push({ at, ...first, put: items.slice(from, until), gone: [], ...(rest > 0 && { rest }) });
    from = until;
  }
  return pieces;
}

/** A whole state of which some has not come. */
export interface Unfinished<T> {
  readonly items: ReadonlyMap<string, T>;
  readonly rest: number;
}

/** Puts pieces together, so that nobody takes what has not come yet for gone. */
export class Assembly<T> {
  #items: Map<string, T> | undefined;
  #rest = 0;

  /** Undefined while nothing is missing. */
  get unfinished(): Unfinished<T> | undefined {
    return this.#items && { items: this.#items, rest: this.#rest };
  }

  /** The change, once all of it is there. A whole state that begins takes the place of one that broke off. */
  take(piece: Piece<T>): Change<T> | undefined {
    const { at, isWhole, put, rest } = piece;
    const before = isWhole ? undefined : this.#items;
    if (before === undefined && rest === undefined) {
      this.#items = undefined;
      return piece;
    }
    const items = before ?? new Map<string, T>();
    for (const [key, item] of put) items.set(key, item);
    this.#rest = rest ?? 0;
    this.#items = rest === undefined ? undefined : items;
    return rest === undefined ? { at, isWhole: true, put: [...items], gone: [] } : undefined;
  }
}
