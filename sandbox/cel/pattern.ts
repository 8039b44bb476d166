/** Regular expressions in RE2's syntax, as far as JavaScript's engine means the same by them. */

type Translation =
  /** The same for JavaScript, with the flag `u`. */
  | { readonly pattern: string }
  /** `isForeign`: perhaps right, but not something that this side can carry out. */
  | { readonly pattern: undefined; readonly isForeign: boolean };

/** What both engines read alike, piece by piece; anything else is foreign. */
const piece =
  /\\[dDwWtnrfv.*+?()[\]{}|^$\\/-]|\\[sS]|\[\^?(?:\\[dDwWtnrfv.*+?()[\]{}|^$\\/-]|[^\\\][])+\]|\((?:\?:)?(?!\?)|[*+?]\??|\{[0-9]{1,3}(?:,[0-9]{0,3})?\}\??|[)|^$.]|[^\\[\](){}*+?|^$.]/uy;

/** RE2's blanks are ASCII, and its dot matches all but the line feed. */
const translated: ReadonlyMap<string, string> = new Map([
  ["\\s", "[\\t\\n\\f\\r ]"],
  ["\\S", "[^\\t\\n\\f\\r ]"],
  [".", "[^\\n]"],
]);

export function translatedPattern(text: string): Translation {
  let pattern = "";
  piece.lastIndex = 0;
  while (piece.lastIndex < text.length) {
    const [part] = piece.exec(text) ?? [];
    if (part === undefined) return { pattern: undefined, isForeign: isWellFormed(text) };
    pattern += translated.get(part) ?? part;
  }
  return isPattern(pattern, "u") ? { pattern } : { pattern: undefined, isForeign: false };
}

/** Wrong for both engines, or only unknown here. */
function isWellFormed(text: string): boolean {
  if (/\(\?(?:[=!]|<[=!])|\\[1-9]/.test(text)) return false;
  return isPattern(text.replace(/\(\?[imsU-]+\)/g, "").replace(/\(\?(?:P?<\w+>|[imsU-]+:)/g, "(?:"));
}

function isPattern(text: string, flags?: string): boolean {
  try {
    return new RegExp(text, flags) instanceof RegExp;
  } catch {
    return false;
  }
}
