/** Roles and bindings by whom they are for: what a request looks at, however many bindings there are. */
import { goQuote } from "../../kube/core/index.ts";
import { type Fields, objectsAt, textAt } from "../json.ts";
import type { User } from "../writes/request.ts";
import { type PolicyRule, rulesOf } from "./policy_rules.ts";

export interface RoleRef {
  /** `Role` or `ClusterRole`. */
  readonly kind: string;
  readonly name: string;
}

interface Subject {
  /** Of the users that it means: `User/<name>` or `Group/<name>`; empty where it can mean nobody. */
  readonly key: string;
  /** As reasons print it. */
  readonly text: string;
}

export interface Binding {
  /** Empty for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly name: string;
  readonly roleRef: RoleRef;
  /** Of its role in the index. */
  readonly roleKey: string;
  readonly subjects: readonly Subject[];
}

/** A binding that is for a user. */
export interface Grant {
  readonly binding: Binding;
  /** Undefined where the role does not exist. */
  readonly rules: readonly PolicyRule[] | undefined;
}

export class RoleIndex {
  /** `<namespace>/<name>`; ClusterRoles have no namespace. */
  readonly #roles = new Map<string, readonly PolicyRule[]>();
  /** Namespace -> name -> binding. */
  readonly #bindings = new Map<string, Map<string, Binding>>();
  /** Namespace -> key of a subject -> bindings. */
  readonly #bySubject = new Map<string, Map<string, Set<Binding>>>();

  setRole(namespace: string, name: string, role: unknown): void {
    this.#roles.set(`${namespace}/${name}`, rulesOf(role));
  }

  deleteRole(namespace: string, name: string): void {
    this.#roles.delete(`${namespace}/${name}`);
  }

  setBinding(namespace: string, name: string, object: Fields): void {
    this.deleteBinding(namespace, name);
    const binding = readBinding(namespace, name, object);
    entryOf(this.#bindings, namespace, () => new Map()).set(name, binding);
    const subjects = entryOf(this.#bySubject, namespace, () => new Map<string, Set<Binding>>());
    for (const { key } of binding.subjects) entryOf(subjects, key, () => new Set()).add(binding);
  }

  deleteBinding(namespace: string, name: string): void {
    const binding = this.#bindings.get(namespace)?.get(name);
    if (binding === undefined) return;
    this.#bindings.get(namespace)?.delete(name);
    const subjects = this.#bySubject.get(namespace);
    for (const { key } of binding.subjects) {
      subjects?.get(key)?.delete(binding);
      if (subjects?.get(key)?.size === 0) subjects.delete(key);
    }
    if (subjects?.size === 0) this.#bySubject.delete(namespace);
  }

  /** Rules of a role as a binding in this namespace names it; undefined where there is none. */
  rulesOf(ref: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    return this.#roles.get(roleKey(ref, namespace));
  }

  /** What is granted to the user for the whole cluster, and in the namespace unless that is empty; each binding once. */
  *grantsOf(user: User, namespace: string): Generator<Grant> {
    const keys = subjectKeys(user);
    for (const place of namespace === "" ? [""] : ["", namespace]) {
      const subjects = this.#bySubject.get(place);
      if (subjects === undefined) continue;
      const seen = new Set<Binding>();
      for (const key of keys) {
        for (const binding of subjects.get(key) ?? []) {
          if (seen.has(binding)) continue;
          seen.add(binding);
          yield { binding, rules: this.#roles.get(binding.roleKey) };
        }
      }
    }
  }
}

/** The first of the binding's subjects that means the user. */
export function subjectFor(binding: Binding, user: User): string {
  const keys = new Set(subjectKeys(user));
  return binding.subjects.find(({ key }) => keys.has(key))?.text ?? "";
}

function subjectKeys({ username, groups }: User): string[] {
  return [`User/${username}`, ...groups.map((group) => `Group/${group}`)];
}

/** Key of the role that a binding in this namespace names; that of none where its kind cannot be named there. */
function roleKey({ kind, name }: RoleRef, namespace: string): string {
  if (kind === "ClusterRole") return `/${name}`;
  return kind === "Role" && namespace !== "" ? `${namespace}/${name}` : "";
}

function readBinding(namespace: string, name: string, object: Fields): Binding {
  const roleRef = { kind: textAt(object, "roleRef", "kind"), name: textAt(object, "roleRef", "name") };
  return {
    namespace,
    name,
    roleRef,
    roleKey: roleKey(roleRef, namespace),
    subjects: objectsAt(object, "subjects").map((subject) => readSubject(subject, namespace)),
  };
}

function readSubject(subject: Fields, bindingNamespace: string): Subject {
  const kind = textAt(subject, "kind");
  const name = textAt(subject, "name");
  if (kind !== "ServiceAccount") {
    const known = kind === "User" || kind === "Group";
    return { key: known ? `${kind}/${name}` : "", text: `${kind} ${goQuote(name)}` };
  }
  const namespace = textAt(subject, "namespace") || bindingNamespace;
  return {
    key: namespace === "" ? "" : `User/system:serviceaccount:${namespace}:${name}`,
    text: `${kind} ${goQuote(`${name}/${namespace}`)}`,
  };
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
