/** `1 pod`, `2 pods`: numbers in messages for people. `many` where it is not `one` with an `s`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
