/** Figures in words. */

export function duration(ms: number | undefined): string {
  if (ms === undefined || !Number.isFinite(ms)) return "-";
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 100) return `${ms.toFixed(1)} ms`;
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

export function bytes(count: number): string {
  if (count < 1_000) return `${Math.round(count)} B`;
  return count < 1_000_000 ? `${(count / 1_000).toFixed(1)} kB` : `${(count / 1_000_000).toFixed(1)} MB`;
}

export function megabytes(mb: number): string {
  return `${mb.toFixed(0)} MB`;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

export function number(value: number): string {
  if (!Number.isFinite(value)) return "-";
  return Number.isInteger(value) ? String(value) : value.toFixed(value < 100 ? 2 : 1);
}

/** `1 pod`, `2.50 requests`; `noun` in the plural. */
export function amount(value: number, noun: string): string {
  return `${number(value)} ${value === 1 ? noun.replace(/s$/, "") : noun}`;
}

export function perSecond(value: number, noun: string): string {
  return `${value.toFixed(value < 100 ? 1 : 0)} ${noun}/s`;
}
