/** Regular expressions in RE2's syntax, as far as JavaScript's engine means the same by them. */

type CompiledPattern =
  | { readonly pattern: RegExp }
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

const known = new Map<string, CompiledPattern>();

export function patternOf(text: string): CompiledPattern {
  const found = known.get(text);
  if (found !== undefined) return found;
  const made = compile(text);
  if (known.size >= 100) known.clear();
  known.set(text, made);
  return made;
}

function compile(text: string): CompiledPattern {
  let source = "";
  piece.lastIndex = 0;
  while (piece.lastIndex < text.length) {
    const [part] = piece.exec(text) ?? [];
    if (part === undefined) return { pattern: undefined, isForeign: isWellFormed(text) };
    source += translated.get(part) ?? part;
  }
  try {
    return { pattern: new RegExp(source, "u") };
  } catch {
    return { pattern: undefined, isForeign: false };
  }
}

/** Wrong for both engines, or only unknown here. */
function isWellFormed(text: string): boolean {
  if (/\(\?(?:[=!]|<[=!])|\\[1-9]/.test(text)) return false;
  const unnamed = text.replace(/\(\?[imsU-]+\)/g, "").replace(/\(\?(?:P?<\w+>|[imsU-]+:)/g, "(?:");
  try {
    return new RegExp(unnamed) instanceof RegExp;
  } catch {
    return false;
  }
}
