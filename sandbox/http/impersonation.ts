/** Requests on behalf of somebody else (`kubectl --as`): each thing that is impersonated needs a right of its own. */
import type { ResourceAttributes } from "../authorization/attributes.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import { notAllowed } from "../authorization/refusal.ts";
import { anonymousUser, serviceAccountUser } from "../tokens.ts";
import type { User } from "../writes/request.ts";
import { type Exchange, type Reply, textReply } from "./exchange.ts";

const extraPrefix = "impersonate-extra-";
const authenticated = "system:authenticated";
const unauthenticated = "system:unauthenticated";

interface Wanted {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

/** The exchange as that of the impersonated user. Throws 403 where its own user may not impersonate. */
export function actingAs(
  authorizer: Authorizer,
  exchange: Exchange,
): { readonly exchange: Exchange } | { readonly reply: Reply } {
  const wanted = wantedUser(exchange.rawHeaders);
  if (wanted === undefined) return { exchange };
  if (wanted.username === "") {
    const where = `Internal Server Error: ${JSON.stringify(exchange.path)}`;
    return {
      reply: textReply(
        500,
        `${where}: requested groups, a UID or extra fields without impersonating a user\n`,
      ),
    };
  }
  for (const attributes of neededRights(exchange.user, wanted)) {
    const { allowed, reason } = authorizer.authorize(attributes);
    if (!allowed) throw notAllowed(attributes, reason);
  }
  return { exchange: { ...exchange, user: impersonatedUser(wanted) } };
}

/** Undefined where no header asks for it. */
function wantedUser(rawHeaders: readonly string[]): Wanted | undefined {
  let username = "";
  let uid = "";
  const groups: string[] = [];
  const extra = new Map<string, string[]>();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const header = (rawHeaders[at] ?? "").toLowerCase();
    if (!header.startsWith("impersonate-")) continue;
    const value = rawHeaders[at + 1] ?? "";
    if (header === "impersonate-user") username = value;
    else if (header === "impersonate-uid") uid = value;
    else if (header === "impersonate-group") groups.push(value);
    else if (header.startsWith(extraPrefix)) {
      const key = decoded(header.slice(extraPrefix.length));
      extra.set(key, [...(extra.get(key) ?? []), value]);
    }
  }
  const asked = username !== "" || uid !== "" || groups.length > 0 || extra.size > 0;
  return asked ? { username, uid, groups, extra } : undefined;
}

function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

function neededRights(user: User, { username, uid, groups, extra }: Wanted): ResourceAttributes[] {
  const right = (
    resource: string,
    name: string,
    rest: Partial<ResourceAttributes> = {},
  ): ResourceAttributes => ({
    user,
    verb: "impersonate",
    group: "",
    resource,
    subresource: "",
    namespace: "",
    name,
    ...rest,
  });
  const group = "authentication.k8s.io";
  const account = accountOf(username);
  return [
    account === undefined
      ? right("users", username)
      : right("serviceaccounts", account.name, { namespace: account.namespace }),
    ...groups.map((name) => right("groups", name)),
    ...[...extra].flatMap(([subresource, values]) =>
      values.map((value) => right("userextras", value, { group, subresource })),
    ),
    ...(uid === "" ? [] : [right("uids", uid, { group })]),
  ];
}

/** Of `system:serviceaccount:<namespace>:<name>`. */
function accountOf(username: string): { readonly namespace: string; readonly name: string } | undefined {
  const [system, kind, namespace, name, ...rest] = username.split(":", 5);
  if (system !== "system" || kind !== "serviceaccount" || rest.length > 0) return undefined;
  return namespace && name ? { namespace, name } : undefined;
}

function impersonatedUser({ username, uid, groups, extra }: Wanted): User {
  const account = accountOf(username);
  const own =
    account === undefined || groups.length > 0
      ? groups
      : serviceAccountUser(account.namespace, account.name, "").groups.filter(
          (group) => group !== authenticated,
        );
  const isAnonymous = username === anonymousUser.username;
  const known = isAnonymous ? [unauthenticated] : [authenticated, unauthenticated];
  const added = own.some((group) => known.includes(group)) ? [] : known.slice(0, 1);
  return {
    username,
    ...(uid === "" ? {} : { uid }),
    groups: [...own, ...added],
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}
