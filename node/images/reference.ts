/** Image references as NodeImage keeps them: a familiar name and a tag or digest apart. */

/** Of the reference grammar: host with port, path parts of lower-case letters, digits and separators. */
const namePattern =
  /^(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\.(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?))*(?::[0-9]+)?\/|\[[0-9a-fA-F:]+\](?::[0-9]+)?\/)?[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const tagPattern = /^\w[\w.-]{0,127}$/;
const digestPattern = /^[A-Za-z][A-Za-z0-9]*(?:[+._-][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;
const longestName = 255;

/**
 * What the runtime is asked for: `name:tag`, or `name@digest` for a digest in the place of the tag.
 * Undefined when it is not a reference: nothing of the kind is sent to a runtime.
 */
export function imageReference(name: string, tag: string): string | undefined {
  if (name.length > longestName || !namePattern.test(name)) return undefined;
  if (digestPattern.test(tag)) return `${name}@${tag}`;
  return tagPattern.test(tag) ? `${name}:${tag}` : undefined;
}

/** Registry and repository as credentials are matched: `nginx` -> `docker.io/library/nginx`. */
export function fullRepository(name: string): string {
  const slash = name.indexOf("/");
  const first = slash < 0 ? "" : name.slice(0, slash);
  if (first !== "" && (/[.:]/.test(first) || first === "localhost")) {
    return first === "index.docker.io" ? `docker.io${name.slice(slash)}` : name;
  }
  return slash < 0 ? `docker.io/library/${name}` : `docker.io/${name}`;
}
