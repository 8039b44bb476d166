/** IP addresses as the API server's lenient fields take them: leading zeros are fine, zones are not. */

export function ipErrors(text: string): string[] {
  return isIPv4(text) || isIPv6(text)
    ? []
    : ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"];
}

function isIPv4(text: string): boolean {
  return /^\d+(\.\d+){3}$/.test(text) && text.split(".").every((part) => Number(part) <= 255);
}

/** Eight groups of hexadecimal digits; `::` once for a run of zeros; the last two may be an IPv4 address. */
function isIPv6(text: string): boolean {
  const halves = text.split("::");
  if (halves.length > 2) return false;
  const counts = halves.map((half, index) => groups(half, index === halves.length - 1));
  const total = counts.reduce((sum, count) => sum + count, 0);
  return halves.length === 2 ? total <= 7 : total === 8;
}

/** The number of groups; not a number if one is malformed. */
function groups(half: string, mayEndInIPv4: boolean): number {
  if (half === "") return 0;
  const parts = half.split(":");
  const last = parts.at(-1) ?? "";
  const dotted = mayEndInIPv4 && isIPv4(last);
  const plain = dotted ? parts.slice(0, -1) : parts;
  if (!plain.every((part) => /^[0-9a-fA-F]{1,4}$/.test(part))) return Number.NaN;
  return plain.length + (dotted ? 2 : 0);
}
