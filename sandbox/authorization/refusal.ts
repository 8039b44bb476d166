/** What is said to somebody who may not do something. Pure. */
import { goQuote } from "../../kube/core/index.ts";
import { ApiError, forbidden } from "../http/api_error.ts";
import { type Attributes, isResourceRequest } from "./attributes.ts";

/** The 403 that refuses a request; `reason` is the authorizer's. */
export function notAllowed(attributes: Attributes, reason: string): ApiError {
  const message = escaped(complaint(attributes));
  const why = reason === "" ? message : `${message}: ${reason}`;
  if (!isResourceRequest(attributes)) return new ApiError(403, "Forbidden", `forbidden: ${why}`, {});
  const { group, resource, name } = attributes;
  return forbidden({ group, plural: resource }, name, why);
}

function complaint(attributes: Attributes): string {
  const user = `User ${goQuote(attributes.user.username)} cannot ${attributes.verb}`;
  if (!isResourceRequest(attributes)) return `${user} path ${goQuote(attributes.path)}`;
  const { group, resource, subresource, namespace } = attributes;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${goQuote(namespace)}`;
  return `${user} resource ${goQuote(what)} in API group ${goQuote(group)} ${where}`;
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** Nothing that a browser could take for HTML. */
function escaped(text: string): string {
  return text.replace(/[&<>]/g, (character) => entities[character] ?? character);
}
