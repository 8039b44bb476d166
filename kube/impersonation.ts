/**
 * Who a kubeconfig's user wants to be taken for, beyond the name: UID, groups and extra fields. client-node reads only
 * the name.
 */
import { isObject, type JsonObject, listAt, objectAt, stringAt } from "./codecs/json_values.ts";

export type ImpersonationHeaders = Readonly<Record<string, string | readonly string[]>>;

/** The headers of each user that impersonates, by the user's name in the kubeconfig (a parsed document). */
export function impersonationOf(kubeconfig: unknown): Map<string, ImpersonationHeaders> {
  const byUser = new Map<string, ImpersonationHeaders>();
  if (!isObject(kubeconfig)) return byUser;
  for (const entry of listAt(kubeconfig, "users")) {
    const headers = headersOf(objectAt(entry, "user"));
    if (Object.keys(headers).length > 0) byUser.set(stringAt(entry, "name"), headers);
  }
  return byUser;
}

function headersOf(user: JsonObject): ImpersonationHeaders {
  const headers: Record<string, string | readonly string[]> = {};
  const uid = stringAt(user, "as-uid");
  const groups = texts(user["as-groups"]);
  if (uid !== "") headers["impersonate-uid"] = uid;
  if (groups.length > 0) headers["impersonate-group"] = groups;
  for (const [key, values] of Object.entries(objectAt(user, "as-user-extra"))) {
    headers[`impersonate-extra-${headerKey(key)}`] = texts(values);
  }
  return headers;
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

/** Bytes that may not be in a header's name are percent-encoded, and so is `%`; the API server decodes them. */
function headerKey(key: string): string {
  let encoded = "";
  for (const byte of Buffer.from(key.toLowerCase())) {
    const character = String.fromCharCode(byte);
    encoded += /[-!#$&'*+.^_`|~0-9a-z]/.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}
