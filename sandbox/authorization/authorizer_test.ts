import * as fc from "fast-check";
import t from "tap";
import { modelAllows } from "../../testkit/sandbox/access_model.ts";
import type { StoredObject } from "../cluster.ts";
import type { Attributes } from "./attributes.ts";
import { requestAttributes } from "./attributes.ts";
import { roleAuthorizer } from "./authorizer.ts";
import { missingRights, type PolicyRule, rightCount, rulesOf } from "./policy_rules.ts";
import { RoleIndex } from "./role_index.ts";

const seed = 20260415;
const namespaces = ["a", "b"];
const names = ["x", "y", "z"];
const usernames = ["joe", "jim", "system:serviceaccount:a:x", "system:serviceaccount:b:x"];
const groups = ["people", "robots"];
const verbs = ["get", "list", "delete"];
const apiGroups = ["", "apps"];
const plurals = ["pods", "deployments"];
const below = ["log", "scale"];
const paths = ["/version", "/apis", "/apis/apps", "/healthz"];

const some = (list: readonly string[], maxLength = 2): fc.Arbitrary<string[]> =>
  fc.array(fc.constantFrom(...list), { minLength: 1, maxLength });
const rule: fc.Arbitrary<object> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record(
      {
        verbs: some([...verbs, "*"]),
        apiGroups: some([...apiGroups, "*"]),
        resources: some([...plurals, "*", "pods/log", "deployments/scale", "*/scale"]),
        resourceNames: some(names),
      },
      { requiredKeys: ["verbs", "apiGroups", "resources"] },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      verbs: some([...verbs, "*"]),
      nonResourceURLs: some([...paths, "/apis/*", "*", "/apis**"]),
    }),
  },
);

const place = fc.constantFrom("", ...namespaces);
const role: fc.Arbitrary<StoredObject> = fc
  .record({ namespace: place, name: fc.constantFrom(...names), rules: fc.array(rule, { maxLength: 3 }) })
  .map(({ namespace, name, rules }) => ({
    kind: namespace === "" ? "ClusterRole" : "Role",
    metadata: namespace === "" ? { name } : { name, namespace },
    rules,
  }));
const subject = fc.oneof(
  fc.record({ kind: fc.constant("User"), name: fc.constantFrom(...usernames) }),
  fc.record({ kind: fc.constant("Group"), name: fc.constantFrom(...groups, "joe") }),
  fc.record(
    {
      kind: fc.constant("ServiceAccount"),
      name: fc.constantFrom("x", "joe"),
      namespace: fc.constantFrom(...namespaces),
    },
    { requiredKeys: ["kind", "name"] },
  ),
);
const binding: fc.Arbitrary<StoredObject> = fc
  .record({
    namespace: place,
    name: fc.constantFrom(...names),
    kind: fc.constantFrom("Role", "ClusterRole"),
    role: fc.constantFrom(...names),
    subjects: fc.array(subject, { maxLength: 3 }),
  })
  .map(({ namespace, name, kind, role, subjects }) => ({
    kind: namespace === "" ? "ClusterRoleBinding" : "RoleBinding",
    metadata: namespace === "" ? { name } : { name, namespace },
    roleRef: { kind, name: role },
    subjects,
  }));

const user = fc.record({
  username: fc.constantFrom(...usernames),
  groups: fc.subarray([...groups]),
});
const attributes: fc.Arbitrary<Attributes> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      user,
      verb: fc.constantFrom(...verbs),
      group: fc.constantFrom(...apiGroups),
      resource: fc.constantFrom(...plurals),
      subresource: fc.constantFrom("", "", ...below),
      namespace: place,
      name: fc.constantFrom("", ...names),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ user, verb: fc.constantFrom(...verbs), path: fc.constantFrom(...paths) }),
  },
);

/** A history of roles and bindings: each step sets one, or removes it. */
const step = fc.record({ object: fc.oneof(role, binding), removed: fc.boolean() });

const keyOf = ({ kind, metadata }: StoredObject): string =>
  `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;

t.test("the authorizer allows what a pass over all bindings allows, after any history", async (t) => {
  let allowed = 0;
  let refused = 0;
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 12 }),
      fc.array(attributes, { minLength: 5, maxLength: 10 }),
      (history, asked) => {
        const index = new RoleIndex();
        const stored = new Map<string, StoredObject>();
        for (const { object, removed } of history) {
          const { namespace = "", name = "" } = object.metadata;
          const isBinding = object.kind?.endsWith("Binding") ?? false;
          if (removed) {
            stored.delete(keyOf(object));
            if (isBinding) index.deleteBinding(namespace, name);
            else index.deleteRole(namespace, name);
          } else {
            stored.set(keyOf(object), object);
            if (isBinding) index.setBinding(namespace, name, object);
            else index.setRole(namespace, name, object);
          }
        }
        const all = [...stored.values()];
        const world = {
          roles: all.filter(({ kind }) => !kind?.endsWith("Binding")),
          bindings: all.filter(({ kind }) => kind?.endsWith("Binding")),
        };
        const authorizer = roleAuthorizer(index);
        for (const one of asked) {
          const { allowed: isAllowed } = authorizer.authorize(one);
          if (isAllowed !== modelAllows(world, one)) return false;
          if (isAllowed) allowed += 1;
          else refused += 1;
        }
        return true;
      },
    ),
    { seed, numRuns: 4000 },
  );
  t.ok(allowed > 1000 && refused > 1000, `${allowed} allowed, ${refused} refused`);
});

t.test("rights that are missing are those that no owned rule allows", async (t) => {
  let missing = 0;
  fc.assert(
    fc.property(
      fc.array(rule, { maxLength: 3 }),
      fc.array(rule, { maxLength: 3 }),
      (ownedRules, wantedRules) => {
        const owned = rulesOf({ rules: ownedRules });
        const wanted = rulesOf({ rules: wantedRules });
        const lines = missingRights(owned, wanted);
        missing += lines.length;
        return (
          missingRights([...owned, ...wanted], wanted).length === 0 &&
          lines.length <= rightCount(wanted) &&
          (lines.length > 0 || everyRequest.every((one) => !allows(wanted, one) || allows(owned, one)))
        );
      },
    ),
    { seed, numRuns: 2000 },
  );
  t.ok(missing > 1000);
});

/** Every request that differs to rules. */
const everyRequest: readonly Attributes[] = [
  ...apiGroups.flatMap((group) =>
    plurals.flatMap((resource) =>
      ["", ...below].flatMap((subresource) =>
        verbs.flatMap((verb) =>
          ["", ...names].map((name) => ({
            user: { username: "u", groups: ["all"] },
            ...{ verb, group, resource, subresource, namespace: "", name },
          })),
        ),
      ),
    ),
  ),
];

function allows(rules: readonly PolicyRule[], asked: Attributes): boolean {
  const index = new RoleIndex();
  index.setRole("", "r", { rules });
  index.setBinding("", "b", {
    roleRef: { kind: "ClusterRole", name: "r" },
    subjects: [{ kind: "Group", name: "all" }],
  });
  return roleAuthorizer(index).authorize(asked).allowed;
}

t.test("attributes are read from the request line", async (t) => {
  const joe = { username: "joe", groups: [] };
  const read = (line: string): Attributes => {
    const [method = "", target = ""] = line.split(" ");
    const url = new URL(target, "https://server");
    return requestAttributes({ method, path: url.pathname, query: url.searchParams, user: joe });
  };
  const resource = { user: joe, group: "", resource: "pods", subresource: "", namespace: "", name: "" };
  t.same(read("GET /api/v1/pods"), { ...resource, verb: "list" });
  t.same(read("HEAD /api/v1/pods?watch=1"), { ...resource, verb: "watch" });
  t.same(read("GET /api/v1/pods?watch=false"), { ...resource, verb: "list" });
  t.same(read("GET /api/v1/pods?fieldSelector=spec.a%3Db,metadata.name%3Dp"), {
    ...resource,
    verb: "list",
    name: "p",
  });
  t.same(read("GET /api/v1/pods?fieldSelector=metadata.name!%3Dp"), { ...resource, verb: "list" });
  t.same(read("DELETE /api/v1/pods"), { ...resource, verb: "deletecollection" });
  t.same(read("OPTIONS /api/v1/pods"), { ...resource, verb: "" });
  const inA = { ...resource, namespace: "a", name: "p" };
  t.same(read("GET /api/v1/namespaces/a/pods/p?watch=1"), { ...inA, verb: "get" });
  t.same(read("POST /api/v1/namespaces/a/pods/p/proxy/b/c"), {
    ...inA,
    verb: "create",
    subresource: "proxy",
  });
  t.same(read("PATCH /apis/apps/v1/namespaces/a/pods/p/scale/"), {
    ...{ ...inA, group: "apps", verb: "patch", subresource: "scale" },
  });
  const namespace = { ...resource, resource: "namespaces", namespace: "a", name: "a" };
  t.same(read("GET /api/v1/namespaces/a"), { ...namespace, verb: "get" });
  t.same(read("PUT /api/v1/namespaces/a/finalize"), {
    ...namespace,
    verb: "update",
    subresource: "finalize",
  });
  t.same(read("GET /apis/apps/v1"), { user: joe, verb: "get", path: "/apis/apps/v1" });
  t.same(read("POST /"), { user: joe, verb: "post", path: "/" });
});
