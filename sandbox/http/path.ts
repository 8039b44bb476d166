/** What a URL path asks for. */

export interface ResourcePath {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** Empty for cluster-scoped resources and lists over all namespaces. */
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

/** Undefined where the path is not below `/api/<version>/` or `/apis/<group>/<version>/`. */
export function parsePath(path: string): ResourcePath | undefined {
  const parts = path.split("/").slice(1);
  if (parts.at(-1) === "") parts.pop();
  const legacy = parts[0] === "api";
  if (!legacy && parts[0] !== "apis") return undefined;
  const group = legacy ? "" : (parts[1] ?? "");
  const version = parts[legacy ? 1 : 2] ?? "";
  const rest = parts.slice(legacy ? 2 : 3).map(decode);
  if (rest.length === 0) return undefined;
  const base = { group, version };
  // `namespaces/x/status` and `/finalize` belong to the namespace itself.
  const ofNamespace = rest.length === 3 && (rest[2] === "status" || rest[2] === "finalize");
  if (rest[0] === "namespaces" && rest.length > 2 && !ofNamespace) {
    return {
      ...base,
      namespace: rest[1] ?? "",
      plural: rest[2] ?? "",
      name: rest[3] ?? "",
      subresource: rest.slice(4).join("/"),
    };
  }
  return {
    ...base,
    namespace: "",
    plural: rest[0] ?? "",
    name: rest[1] ?? "",
    subresource: rest.slice(2).join("/"),
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
