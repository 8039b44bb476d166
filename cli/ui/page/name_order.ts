/** The order of names in which people count: `web-9` before `web-10`. */

const [zero, nine] = [48, 57];

/**
 * Below 0 where `a` comes first. Names of Kubernetes are ASCII without capitals, whose codes are in the order of a dictionary. A browser's
 * own collator does the same, but the first one that a page makes takes as long as its first frame, because it loads the locale.
 */
export function compareNames(a: string, b: string): number {
  let [left, right] = [0, 0];
  while (left < a.length && right < b.length) {
    const [one, other] = [a.charCodeAt(left), b.charCodeAt(right)];
    if (isDigit(one) && isDigit(other)) {
      const [begin, start] = [skipZeros(a, left), skipZeros(b, right)];
      [left, right] = [skipDigits(a, begin), skipDigits(b, start)];
      const longer = left - begin - (right - start);
      if (longer !== 0) return longer;
      for (let at = 0; begin + at < left; at++) {
        const more = a.charCodeAt(begin + at) - b.charCodeAt(start + at);
        if (more !== 0) return more;
      }
      continue;
    }
    if (one !== other) return one - other;
    left++;
    right++;
  }
  // Of equal numbers the one with fewer zeros before it comes first.
  return a.length - left - (b.length - right) || a.length - b.length;
}

const isDigit = (code: number): boolean => code >= zero && code <= nine;

function skipZeros(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === zero && isDigit(text.charCodeAt(at + 1))) at++;
  return at;
}

function skipDigits(text: string, from: number): number {
  let at = from;
  while (isDigit(text.charCodeAt(at))) at++;
  return at;
}
