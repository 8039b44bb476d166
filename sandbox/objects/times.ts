/** RFC 3339 with seconds, the API's time format. */
export function timeText(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

/** Milliseconds of an API time; undefined when absent or not a time. */
export function timeOf(text: string | null | undefined): number | undefined {
  if (!text) return undefined;
  const parsed = Date.parse(text);
  return Number.isNaN(parsed) ? undefined : parsed;
}
