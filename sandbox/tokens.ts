/** Bearer tokens that the server knows: the administrator's, and those of service accounts. */
import type { Random } from "../kube/core/index.ts";
import { randomUid } from "./random.ts";
import type { User } from "./writes/request.ts";

export class Tokens {
  readonly #random: Random;
  readonly #users = new Map<string, User>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** A new token for this user. */
  issue(user: User): string {
    const token = `sandbox-${randomUid(this.#random)}`;
    this.#users.set(token, user);
    return token;
  }

  userOf(token: string): User | undefined {
    return this.#users.get(token);
  }
}

export const adminUser: User = { username: "admin", groups: ["system:masters", "system:authenticated"] };

/** Who shows neither a token nor a certificate. */
export const anonymousUser: User = {
  username: "system:anonymous",
  groups: ["system:unauthenticated"],
};

/** The user that a service account is. */
export function serviceAccountUser(namespace: string, name: string, uid: string): User {
  return {
    username: `system:serviceaccount:${namespace}:${name}`,
    uid,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
  };
}
