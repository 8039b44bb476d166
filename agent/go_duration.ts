/** `1.5s`, `2m3.25s`, `310ms`: durations as event texts of the API print them. */
export function goDuration(ms: number): string {
  if (ms < 1000) return `${trim(ms)}ms`;
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor((ms % 3_600_000) / 60_000);
  const seconds = `${trim((ms % 60_000) / 1000)}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}

function trim(value: number): string {
  return String(Number(value.toFixed(6)));
}
