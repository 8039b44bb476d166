/** IP addresses as the API server's lenient fields take them: leading zeros are fine, zones are not. */
import { isIPv6 } from "node:net";

export function ipErrors(text: string): string[] {
  if (isIPv4(text) || (isIPv6(withoutZeros(text)) && !text.includes("%"))) return [];
  return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"];
}

function isIPv4(text: string): boolean {
  return /^\d+(\.\d+){3}$/.test(text) && text.split(".").every((part) => Number(part) <= 255);
}

/** The dotted tail of an IPv6 address may have leading zeros too. */
function withoutZeros(text: string): string {
  return text.replace(/\b0+(?=\d+(\.|$))/g, (zeros, _next, offset) =>
    text.slice(offset).includes(".") ? "" : zeros,
  );
}
