/** What a request wants to do, as authorizers see it. Pure. */
import { parseFieldSelector } from "../../kube/core/index.ts";
import { parsePath } from "../http/path.ts";
import type { User } from "../writes/request.ts";

export interface ResourceAttributes {
  readonly user: User;
  readonly verb: string;
  readonly group: string;
  /** Plural. */
  readonly resource: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** Empty: the whole cluster. */
  readonly namespace: string;
  /** Empty: any object. */
  readonly name: string;
}

/** A request for something that is no resource: health, discovery, API documents. */
export interface PathAttributes {
  readonly user: User;
  /** The HTTP method in lower case. */
  readonly verb: string;
  readonly path: string;
}

export type Attributes = ResourceAttributes | PathAttributes;

export function isResourceRequest(attributes: Attributes): attributes is ResourceAttributes {
  return "resource" in attributes;
}

interface RequestLine {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly user: User;
}

const verbs: Readonly<Record<string, string>> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** Read from the path alone, so that requests for resources that are not served are authorized as well. */
export function requestAttributes({ method, path, query, user }: RequestLine): Attributes {
  const at = parsePath(path);
  if (at === undefined) return { user, verb: method.toLowerCase(), path };
  const named = at.name === "" && verbs[method] === "get" ? selectedName(query) : at.name;
  return {
    user,
    verb: resourceVerb(verbs[method] ?? "", at.name, query),
    group: at.group,
    resource: at.plural,
    subresource: at.subresource.split("/", 1)[0] ?? "",
    // A namespace lies in itself: roles there may allow its reading.
    namespace: at.plural === "namespaces" && at.namespace === "" ? at.name : at.namespace,
    name: named,
  };
}

function resourceVerb(verb: string, name: string, query: URLSearchParams): string {
  if (name !== "") return verb;
  if (verb === "delete") return "deletecollection";
  if (verb !== "get") return verb;
  const watch = query.get("watch");
  return watch === null || watch === "false" || watch === "0" ? "list" : "watch";
}

/** Lists and watches of one object by its name are requests for that name. */
function selectedName(query: URLSearchParams): string {
  const selector = query.get("fieldSelector") ?? "";
  if (!selector.includes("metadata.name")) return "";
  try {
    const { requirements } = parseFieldSelector(selector);
    const name = requirements.find(
      ({ field, operator }) => field === "metadata.name" && operator === "=",
    )?.value;
    return name === undefined || name === "." || name === ".." || /[/%]/.test(name) ? "" : name;
  } catch {
    // What cannot be read is refused later, in the words for selectors.
    return "";
  }
}
