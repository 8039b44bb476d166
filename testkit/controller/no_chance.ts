/** For plans that leave nothing to chance. */
export function noChance(): number {
  throw new Error("something was left to chance");
}
