/** What the page's server answers to requests that it does not carry out. */

/** Nothing was run. `status` is one of HTTP. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
}

export const refusal = (status: number, message: string): Refusal => ({ status, message });

/** Undefined for what is no JSON. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
