/** Names that need only be a segment of a URL's path: those of roles and bindings. */
export function pathSegmentErrors(name: string): readonly string[] {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  return ["/", "%"].filter((letter) => name.includes(letter)).map((letter) => `may not contain '${letter}'`);
}
