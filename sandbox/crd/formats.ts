/** Named formats of strings; formats that the server does not know are not enforced. */
import { isIPv4, isIPv6 } from "node:net";

const checks: Readonly<Record<string, (text: string) => boolean>> = {
  "date-time": (text) =>
    /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i.test(text) &&
    !Number.isNaN(Date.parse(text)),
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)),
  ipv4: isIPv4,
  ipv6: isIPv6,
  uuid: (text) => /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i.test(text),
  byte: (text) => /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0,
  email: (text) => /^[^@\s]+@[^@\s]+$/.test(text),
  hostname: (text) => text.length <= 255 && /^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$/.test(text),
  uri: (text) => URL.canParse(text),
  duration: (text) => /^([+-]?\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text) || /^\d+ ?[a-z]+$/.test(text),
};

/** True when the text is not of the format. */
export function formatError(format: string, text: string): boolean {
  const check = checks[format];
  return check !== undefined && !check(text);
}
