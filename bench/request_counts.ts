/** Requests of a manager, from its own metrics: by verb and resource for this project, by method for client-go. */

export type RequestCounts = Readonly<Record<string, number>>;

export async function requestCounts(url: string): Promise<RequestCounts> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(5000) });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  return parseRequestCounts(await answer.text());
}

/** Sums over codes and hosts; keys are `PATCH pods/status`, or `PATCH` where only the method is known. */
export function parseRequestCounts(text: string): RequestCounts {
  const detailed = sums(
    text,
    "refit_client_requests_total",
    (label) => `${label("verb")} ${label("resource")}`,
  );
  return Object.keys(detailed).length > 0
    ? detailed
    : sums(text, "rest_client_requests_total", (label) => label("method"));
}

function sums(
  text: string,
  metric: string,
  keyOf: (label: (name: string) => string) => string,
): RequestCounts {
  const counts: Record<string, number> = {};
  for (const line of text.split("\n")) {
    const match = line.startsWith(`${metric}{`) ? /^\w+\{([^}]*)\} (\S+)/.exec(line) : null;
    if (match === null) continue;
    const key = keyOf((name) => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(match[1] ?? "")?.[1] ?? "");
    counts[key] = (counts[key] ?? 0) + Number(match[2]);
  }
  return counts;
}

export function difference(after: RequestCounts, before: RequestCounts): Record<string, number> {
  const grown: Record<string, number> = {};
  for (const [key, value] of Object.entries(after)) {
    const by = value - (before[key] ?? 0);
    if (by > 0) grown[key] = by;
  }
  return grown;
}
