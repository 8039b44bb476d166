/** The suites with the given numbers, all of them when none is given. Throws on a number that no suite has. */
export function select<S extends { readonly number: string }>(
  suites: readonly S[],
  numbers: readonly string[],
): readonly S[] {
  const unknown = numbers.find((number) => !suites.some((suite) => suite.number === number));
  if (unknown !== undefined) {
    const known = suites.map((suite) => suite.number).sort();
    throw new Error(`no suite has the number ${unknown}; there are ${known.join(" ")}`);
  }
  return numbers.length === 0 ? suites : suites.filter((suite) => numbers.includes(suite.number));
}
