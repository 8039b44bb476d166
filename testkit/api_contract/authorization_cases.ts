/** Who may do what: roles, bindings, reviews of access, and what nobody may give away. */
import assert from "node:assert/strict";
import { type Fields, objectsAt, textAt, valueAt } from "../../sandbox/json.ts";
import type { Contract, ContractCase } from "./case.ts";
import { configMapBody } from "./objects.ts";
import type { Answer, CallOptions } from "./target.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const reviews = "/apis/authorization.k8s.io/v1";
const group = "rbac.authorization.k8s.io";
const jane = "jane";

interface Rule {
  readonly [name: string]: readonly string[];
}

const readPods: Rule = { apiGroups: [""], resources: ["pods", "pods/log"], verbs: ["get", "list"] };

/** Names of what lies in no namespace carry the case's own. */
function nameIn({ namespace }: Contract, name: string): string {
  return `${namespace}-${name}`;
}

function roleBody(name: string, rules: readonly Rule[], rest: Fields = {}): Fields {
  return { metadata: { name, ...rest }, rules };
}

function bindingBody(name: string, role: string, subjects: readonly Fields[]): Fields {
  const [kind, roleName] = role.split("/");
  return { metadata: { name }, roleRef: { apiGroup: group, kind, name: roleName }, subjects };
}

const user = (name: string): Fields => ({ kind: "User", name });

interface Access {
  readonly contract: Contract;
  /** Creates in the case's namespace, or in the cluster (removed at the end). */
  create(plural: string, body: Fields): Promise<void>;
  /** Asks until the answer has this code: a real server takes a moment to see new roles. */
  until(code: number, method: string, path: string, options: CallOptions): Promise<Answer>;
}

/** Runs with roles and bindings of the cluster, which are removed again. */
async function withAccess(contract: Contract, run: (access: Access) => Promise<void>): Promise<void> {
  const made: string[] = [];
  try {
    await run({
      contract,
      async create(plural, body) {
        const isCluster = plural.startsWith("cluster");
        const path = isCluster ? `${rbac}/${plural}` : `${rbac}/namespaces/${contract.namespace}/${plural}`;
        await contract.expect(201, "POST", path, { body });
        if (isCluster) made.push(`${path}/${textAt(body, "metadata", "name")}`);
      },
      async until(code, method, path, options) {
        for (let attempt = 0; ; attempt++) {
          const answer = await contract.call(method, path, options);
          if (answer.code === code || attempt === 200) {
            assert.equal(answer.code, code, answer.text);
            return answer;
          }
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      },
    });
  } finally {
    for (const path of made) await contract.call("DELETE", path);
  }
}

function forbids(answer: Answer, message: string, details?: Fields): void {
  assert.equal(textAt(answer.json, "message"), message);
  assert.equal(answer.code, 403);
  assert.equal(textAt(answer.json, "reason"), "Forbidden");
  assert.equal(textAt(answer.json, "status"), "Failure");
  if (details !== undefined) assert.deepEqual(answer.json["details"], details);
}

const refused: readonly (readonly [method: string, path: string, message: string, details: Fields])[] = [
  [
    "GET",
    "/api/v1/namespaces/~/pods/p",
    'pods "p" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "~"',
    { name: "p", kind: "pods" },
  ],
  [
    "GET",
    "/api/v1/pods",
    'pods is forbidden: User "jane" cannot list resource "pods" in API group "" at the cluster scope',
    { kind: "pods" },
  ],
  [
    "GET",
    "/api/v1/namespaces/~/pods?watch=true",
    'pods is forbidden: User "jane" cannot watch resource "pods" in API group "" in the namespace "~"',
    { kind: "pods" },
  ],
  [
    "GET",
    "/api/v1/namespaces/~/pods?fieldSelector=metadata.name%3Dp",
    'pods "p" is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "~"',
    { name: "p", kind: "pods" },
  ],
  [
    "DELETE",
    "/apis/apps/v1/namespaces/~/deployments",
    'deployments.apps is forbidden: User "jane" cannot deletecollection resource "deployments" in API group "apps" in the namespace "~"',
    { group: "apps", kind: "deployments" },
  ],
  [
    "PUT",
    "/apis/apps/v1/namespaces/~/deployments/d/scale",
    'deployments.apps "d" is forbidden: User "jane" cannot update resource "deployments/scale" in API group "apps" in the namespace "~"',
    { name: "d", group: "apps", kind: "deployments" },
  ],
  [
    "GET",
    "/api/v1/namespaces/~",
    'namespaces "~" is forbidden: User "jane" cannot get resource "namespaces" in API group "" in the namespace "~"',
    { name: "~", kind: "namespaces" },
  ],
  [
    "PUT",
    "/api/v1/namespaces/~/finalize",
    'namespaces "~" is forbidden: User "jane" cannot update resource "namespaces/finalize" in API group "" in the namespace "~"',
    { name: "~", kind: "namespaces" },
  ],
  [
    "GET",
    "/apis/example.com/v1/unknowns",
    'unknowns.example.com is forbidden: User "jane" cannot list resource "unknowns" in API group "example.com" at the cluster scope',
    { group: "example.com", kind: "unknowns" },
  ],
  ["GET", "/metrics", 'forbidden: User "jane" cannot get path "/metrics"', {}],
  ["POST", "/healthy", 'forbidden: User "jane" cannot post path "/healthy"', {}],
];

async function refusals(contract: Contract): Promise<void> {
  for (const [method, path, message, details] of refused) {
    const own = (text: string): string => text.replaceAll("~", contract.namespace);
    const answer = await contract.call(method, own(path), {
      as: jane,
      ...(method === "PUT" ? { body: {} } : {}),
    });
    forbids(answer, own(message), JSON.parse(own(JSON.stringify(details))));
  }
}

async function openToAll({ call }: Contract): Promise<void> {
  for (const path of ["/healthz", "/readyz", "/version", "/api", "/apis", "/apis/apps/v1", "/openapi/v3"]) {
    assert.equal((await call("GET", path, { as: jane })).code, 200, path);
  }
  const anonymous = { as: "system:anonymous" };
  assert.equal((await call("GET", "/version", anonymous)).code, 200);
  forbids(
    await call("GET", "/apis", anonymous),
    'forbidden: User "system:anonymous" cannot get path "/apis"',
    {},
  );
}

/** What user and rule may do in the case's namespace. */
async function subjects(contract: Contract): Promise<void> {
  const { namespace, path, call } = contract;
  await withAccess(contract, async ({ create, until }) => {
    await create("roles", roleBody("reader", [readPods]));
    await create(
      "rolebindings",
      bindingBody("readers", "Role/reader", [
        { kind: "Group", name: `${namespace}-people` },
        { kind: "ServiceAccount", name: "robot" },
        { kind: "ServiceAccount", name: "other", namespace: "default" },
        user(nameIn(contract, "joe")),
      ]),
    );
    const joe = nameIn(contract, "joe");
    await until(200, "GET", path("pods"), { as: joe });
    const allowed: readonly CallOptions[] = [
      { as: jane, group: `${namespace}-people` },
      { as: `system:serviceaccount:${namespace}:robot` },
      { as: "system:serviceaccount:default:other" },
    ];
    for (const options of allowed) {
      assert.equal((await call("GET", path("pods"), options)).code, 200, JSON.stringify(options));
      assert.equal((await call("GET", path("pods", "p"), options)).code, 404);
      assert.equal((await call("GET", path("pods", "p", "log"), options)).code, 404);
      assert.equal((await call("GET", path("pods", "p", "status"), options)).code, 403);
      assert.equal((await call("DELETE", path("pods", "p"), options)).code, 403);
      assert.equal((await call("GET", "/api/v1/pods", options)).code, 403);
      assert.equal((await call("GET", "/api/v1/namespaces/default/pods", options)).code, 403);
    }
    for (const as of [jane, `system:serviceaccount:${namespace}:other`, `${namespace}-people`]) {
      assert.equal((await call("GET", path("pods"), { as })).code, 403, as);
    }
  });
}

async function namesAndStars(contract: Contract): Promise<void> {
  const { path, call } = contract;
  const joe = nameIn(contract, "joe");
  await withAccess(contract, async ({ create, until }) => {
    await create(
      "roles",
      roleBody("some", [
        {
          apiGroups: [""],
          resources: ["configmaps"],
          resourceNames: ["mine"],
          verbs: ["get", "list", "update", "create"],
        },
        { apiGroups: ["apps"], resources: ["*/scale"], verbs: ["*"] },
        { apiGroups: ["*"], resources: ["secrets"], verbs: ["get"] },
      ]),
    );
    await create("rolebindings", bindingBody("some", "Role/some", [user(joe)]));
    const code = async (method: string, at: string, body?: Fields): Promise<number> =>
      (await call(method, at, { as: joe, ...(body === undefined ? {} : { body }) })).code;
    await until(404, "GET", path("configmaps", "mine"), { as: joe });
    assert.equal(await code("GET", path("configmaps", "other")), 403);
    assert.equal(await code("GET", path("configmaps")), 403);
    assert.equal(await code("GET", `${path("configmaps")}?fieldSelector=metadata.name%3Dmine`), 200);
    // The path of a creation names nothing.
    assert.equal(await code("POST", path("configmaps"), configMapBody("mine")), 403);
    const apps = `/apis/apps/v1/namespaces/${contract.namespace}`;
    assert.equal(await code("GET", `${apps}/deployments/d/scale`), 404);
    assert.equal(await code("GET", `${apps}/deployments/d`), 403);
    assert.equal(await code("GET", path("secrets", "s")), 404);
    assert.equal(await code("DELETE", path("secrets", "s")), 403);
  });
}

async function clusterRoles(contract: Contract): Promise<void> {
  const { path, call } = contract;
  const name = nameIn(contract, "reader");
  const joe = nameIn(contract, "joe");
  const jim = nameIn(contract, "jim");
  await withAccess(contract, async ({ create, until }) => {
    await create(
      "clusterroles",
      roleBody(name, [readPods, { nonResourceURLs: ["/metrics", "/logs/*"], verbs: ["get"] }]),
    );
    await create("rolebindings", bindingBody("here", `ClusterRole/${name}`, [user(joe)]));
    await create("clusterrolebindings", bindingBody(name, `ClusterRole/${name}`, [user(jim)]));
    await until(200, "GET", path("pods"), { as: joe });
    await until(200, "GET", "/api/v1/pods", { as: jim });
    assert.equal((await call("GET", "/api/v1/pods", { as: joe })).code, 403);
    assert.equal((await call("GET", path("pods"), { as: jim })).code, 200);
    assert.notEqual((await call("GET", "/metrics", { as: jim })).code, 403);
    assert.notEqual((await call("GET", "/logs/x/y", { as: jim })).code, 403);
    assert.equal((await call("GET", "/logs", { as: jim })).code, 403);
    assert.equal((await call("GET", "/metrics", { as: joe })).code, 403, "not by a binding in a namespace");
    await contract.expect(200, "DELETE", `${rbac}/clusterrolebindings/${name}`);
    await until(403, "GET", "/api/v1/pods", { as: jim });
  });
}

async function missingRole(contract: Contract): Promise<void> {
  const joe = nameIn(contract, "joe");
  await withAccess(contract, async ({ create, contract: { path, namespace } }) => {
    await create("rolebindings", bindingBody("a", "Role/gone", [user(joe)]));
    const expected = `pods is forbidden: User "${joe}" cannot list resource "pods" in API group "" in the namespace "${namespace}": RBAC: role.rbac.authorization.k8s.io "gone" not found`;
    for (let attempt = 0; attempt < 200; attempt++) {
      const answer = await contract.call("GET", path("pods"), { as: joe });
      if (attempt < 199 && !textAt(answer.json, "message").includes("RBAC")) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      forbids(answer, expected);
      return;
    }
  });
}

function attributes(namespace: string, verb: string, resource: string, rest: Fields = {}): Fields {
  return { resourceAttributes: { namespace, verb, resource, ...rest } };
}

async function accessReviews(contract: Contract): Promise<void> {
  const { namespace, expect } = contract;
  const joe = nameIn(contract, "joe");
  await withAccess(contract, async ({ create, until, contract: { path } }) => {
    await create("roles", roleBody("reader", [readPods]));
    await create("rolebindings", bindingBody("readers", "Role/reader", [user(joe)]));
    await until(200, "GET", path("pods"), { as: joe });
    const yes = {
      allowed: true,
      reason: `RBAC: allowed by RoleBinding "readers/${namespace}" of Role "reader" to User "${joe}"`,
    };
    const ask = async (kind: string, spec: Fields, options: CallOptions = {}): Promise<unknown> => {
      const plural = `${kind.toLowerCase()}s`;
      const at = kind.startsWith("Local") ? `${reviews}/namespaces/${namespace}` : reviews;
      const body = { apiVersion: "authorization.k8s.io/v1", kind, metadata: {}, spec };
      if (kind.startsWith("Local")) Object.assign(body.metadata, { namespace });
      const answer = await expect(201, "POST", `${at}/${plural}`, { ...options, body });
      return answer["status"];
    };
    const who = { user: joe };
    const list = attributes(namespace, "list", "pods");
    assert.deepEqual(await ask("SubjectAccessReview", { ...list, ...who }), yes);
    assert.deepEqual(await ask("LocalSubjectAccessReview", { ...list, ...who }), yes);
    assert.deepEqual(await ask("SelfSubjectAccessReview", list, { as: joe }), yes);
    const log = attributes(namespace, "get", "pods", { subresource: "log", name: "p" });
    assert.deepEqual(await ask("SelfSubjectAccessReview", log, { as: joe }), yes);
    const no = { allowed: false };
    for (const spec of [
      attributes(namespace, "delete", "pods"),
      attributes("", "list", "pods"),
      attributes(namespace, "list", "pods", { group: "apps" }),
      attributes(namespace, "get", "pods", { subresource: "exec" }),
      { nonResourceAttributes: { path: "/metrics", verb: "get" } },
    ]) {
      assert.deepEqual(await ask("SelfSubjectAccessReview", spec, { as: joe }), no, JSON.stringify(spec));
      assert.deepEqual(await ask("SubjectAccessReview", { ...spec, ...who }), no);
    }
    const masters = { ...list, user: "x", groups: ["system:masters"] };
    assert.deepEqual(await ask("SubjectAccessReview", masters), { allowed: true });
    assert.deepEqual(await ask("SelfSubjectAccessReview", list), { allowed: true });
  });
}

const wrongReviews: readonly (readonly [kind: string, spec: Fields, message: string])[] = [
  [
    "SubjectAccessReview",
    { resourceAttributes: { verb: "get", resource: "pods" } },
    'spec.user: Invalid value: "": at least one of user or group must be specified',
  ],
  [
    "SelfSubjectAccessReview",
    {},
    "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
  ],
];

async function wrongAccessReviews(contract: Contract): Promise<void> {
  for (const [kind, spec, message] of wrongReviews) {
    const body = { apiVersion: "authorization.k8s.io/v1", kind, spec };
    const answer = await contract.call("POST", `${reviews}/${kind.toLowerCase()}s`, { body });
    assert.equal(answer.code, 422, answer.text);
    assert.equal(textAt(answer.json, "message"), `.authorization.k8s.io "" is invalid: ${message}`);
  }
  const body = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: {} };
  const answer = await contract.call("POST", `${reviews}/selfsubjectrulesreviews`, { body });
  assert.equal(answer.code, 400, answer.text);
  assert.equal(textAt(answer.json, "message"), "no namespace on request");
}

async function rulesReviews(contract: Contract): Promise<void> {
  const { namespace, expect } = contract;
  const joe = nameIn(contract, "joe");
  await withAccess(contract, async ({ create, until, contract: { path } }) => {
    const named = { apiGroups: [""], resources: ["configmaps"], resourceNames: ["mine"], verbs: ["get"] };
    await create("roles", roleBody("reader", [readPods, named]));
    await create("rolebindings", bindingBody("readers", "Role/reader", [user(joe)]));
    await until(200, "GET", path("pods"), { as: joe });
    const body = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectRulesReview",
      spec: { namespace },
    };
    const answer = await expect(201, "POST", `${reviews}/selfsubjectrulesreviews`, { as: joe, body });
    const sorted = (list: readonly unknown[]): string[] =>
      list.map((rule) => JSON.stringify(sortKeys(rule))).sort();
    const { resourceRules: _resources, nonResourceRules: _paths, ...rest } = Object(answer["status"]);
    assert.deepEqual(rest, { incomplete: false });
    assert.deepEqual(
      sorted(objectsAt(answer, "status", "resourceRules")),
      sorted([
        readPods,
        named,
        {
          apiGroups: ["authorization.k8s.io"],
          resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
          verbs: ["create"],
        },
        { apiGroups: ["authentication.k8s.io"], resources: ["selfsubjectreviews"], verbs: ["create"] },
      ]),
    );
    const paths = objectsAt(answer, "status", "nonResourceRules");
    assert.ok(JSON.stringify(paths).includes('"/openapi/*"'), "discovery");
    assert.ok(paths.every(({ verbs }) => JSON.stringify(verbs) === '["get"]'));
  });
}

function sortKeys(value: unknown): unknown {
  return Object.fromEntries(Object.entries(Object(value)).sort());
}

/** A user who may write roles and bindings, but read pods only. */
async function escalation(contract: Contract): Promise<void> {
  const { namespace, call } = contract;
  const joe = nameIn(contract, "joe");
  const name = nameIn(contract, "writer");
  const as = { as: joe };
  const roles = `${rbac}/namespaces/${namespace}/roles`;
  const bindings = `${rbac}/namespaces/${namespace}/rolebindings`;
  const lacks = (lines: string): string =>
    `user "${joe}" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n${lines}`;
  await withAccess(contract, async ({ create, until }) => {
    await create(
      "clusterroles",
      roleBody(name, [
        { apiGroups: [group], resources: ["*"], verbs: ["get", "create", "update", "patch", "delete"] },
        readPods,
      ]),
    );
    await create("clusterrolebindings", bindingBody(name, `ClusterRole/${name}`, [user(joe)]));
    await until(200, "GET", `${rbac}/clusterroles/${name}`, as);
    const post = (path: string, body: Fields): Promise<Answer> => call("POST", path, { ...as, body });

    assert.equal((await post(roles, roleBody("same", [readPods]))).code, 201);
    const more: readonly Rule[] = [
      { apiGroups: ["", "apps"], resources: ["pods", "deployments"], verbs: ["list", "delete", "watch"] },
      { apiGroups: [""], resources: ["secrets"], resourceNames: ["a", "b"], verbs: ["get"] },
      { apiGroups: [""], resources: ["pods"], resourceNames: ["a"], verbs: ["get"] },
      { apiGroups: [""], resources: ["*/log"], verbs: ["get"] },
    ];
    const missing = [
      '{APIGroups:[""], Resources:["*/log"], Verbs:["get"]}',
      '{APIGroups:[""], Resources:["deployments"], Verbs:["list" "delete" "watch"]}',
      '{APIGroups:[""], Resources:["pods"], Verbs:["delete" "watch"]}',
      '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get"]}',
      '{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get"]}',
      '{APIGroups:["apps"], Resources:["deployments"], Verbs:["list" "delete" "watch"]}',
      '{APIGroups:["apps"], Resources:["pods"], Verbs:["list" "delete" "watch"]}',
    ].join("\n");
    forbids(
      await post(roles, roleBody("more", more)),
      `roles.${group} "more" is forbidden: ${lacks(missing)}`,
      { name: "more", group, kind: "roles" },
    );
    const extended = { rules: [readPods, { apiGroups: [""], resources: ["nodes"], verbs: ["get"] }] };
    const patch = { ...as, body: extended, type: "application/merge-patch+json" };
    forbids(
      await call("PATCH", `${roles}/same`, patch),
      `roles.${group} "same" is forbidden: ${lacks('{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}')}`,
    );
    const label = { metadata: { labels: { a: "b" } } };
    assert.equal((await call("PATCH", `${roles}/same`, { ...patch, body: label })).code, 200);

    const strong = { apiGroups: [""], resources: ["secrets"], verbs: ["get"] };
    await create("roles", roleBody("strong", [strong]));
    const released = { ...patch, body: { metadata: { finalizers: ["example.com/wait"] } } };
    assert.equal((await call("PATCH", `${roles}/strong`, released)).code, 200, "for its collection");
    assert.equal((await call("PATCH", `${roles}/strong`, { ...patch, body: label })).code, 403);
    const free = { body: { metadata: { finalizers: null } }, type: patch.type };
    assert.equal((await call("PATCH", `${roles}/strong`, free)).code, 200);

    // The server reads roles for this from its store, not from what it watches.
    assert.equal((await post(bindings, bindingBody("same", "Role/same", [user("x")]))).code, 201);
    const admin = await post(bindings, bindingBody("admin", "ClusterRole/cluster-admin", [user("x")]));
    forbids(
      admin,
      `rolebindings.${group} "admin" is forbidden: ${lacks(
        '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n{NonResourceURLs:["*"], Verbs:["*"]}',
      )}`,
      { name: "admin", group, kind: "rolebindings" },
    );
    for (const kind of ["Role", "ClusterRole"]) {
      const gone = await post(bindings, bindingBody("b", `${kind}/gone`, [user("x")]));
      assert.equal(gone.code, 404, gone.text);
      assert.equal(textAt(gone.json, "message"), `rolebindings.${group} "gone" not found`);
    }
    const aggregate = { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] } };
    forbids(
      await post(`${rbac}/clusterroles`, { ...roleBody(`${name}-all`, []), ...aggregate }),
      `clusterroles.${group} "${name}-all" is forbidden: must have cluster-admin privileges to use the aggregationRule`,
    );
  });
}

async function escalateAndBind(contract: Contract): Promise<void> {
  const { namespace, call } = contract;
  const joe = nameIn(contract, "joe");
  const as = { as: joe };
  const roles = `${rbac}/namespaces/${namespace}/roles`;
  const bindings = `${rbac}/namespaces/${namespace}/rolebindings`;
  await withAccess(contract, async ({ create, until }) => {
    await create(
      "roles",
      roleBody("power", [
        { apiGroups: [group], resources: ["roles", "rolebindings"], verbs: ["get", "create", "update"] },
        { apiGroups: [group], resources: ["roles"], verbs: ["escalate"] },
        { apiGroups: [group], resources: ["clusterroles"], resourceNames: ["view"], verbs: ["bind"] },
      ]),
    );
    await create("rolebindings", bindingBody("power", "Role/power", [user(joe)]));
    await until(200, "GET", `${roles}/power`, as);
    const nodes = { apiGroups: [""], resources: ["secrets"], verbs: ["*"] };
    assert.equal((await call("POST", roles, { ...as, body: roleBody("more", [nodes]) })).code, 201);
    const view = bindingBody("view", "ClusterRole/view", [user("x")]);
    const edit = bindingBody("edit", "ClusterRole/cluster-admin", [user("x")]);
    assert.equal((await call("POST", bindings, { ...as, body: view })).code, 201);
    assert.equal((await call("POST", bindings, { ...as, body: edit })).code, 403);
  });
}

async function impersonation(contract: Contract): Promise<void> {
  const { call, path, expect, namespace } = contract;
  const who = async (options: CallOptions): Promise<unknown> => {
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const answer = await expect(201, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {
      ...options,
      body,
    });
    return valueAt(answer, "status", "userInfo");
  };
  assert.deepEqual(await who({ as: jane }), { username: jane, groups: ["system:authenticated"] });
  assert.deepEqual(await who({ as: jane, group: "a, b" }), {
    username: jane,
    groups: ["a, b", "system:authenticated"],
  });
  const robot = `system:serviceaccount:${namespace}:robot`;
  assert.deepEqual(await who({ as: robot }), {
    username: robot,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
  });
  const masters = { as: jane, group: "system:masters" };
  assert.equal((await call("GET", path("pods"), masters)).code, 200);
  const alone = await call("GET", path("pods"), { group: "system:masters" });
  assert.equal(alone.code, 500);
}

async function defaultRoles(contract: Contract): Promise<void> {
  const { expect } = contract;
  for (const name of ["cluster-admin", "admin", "edit", "view", "system:discovery", "system:basic-user"]) {
    const role = await expect(200, "GET", `${rbac}/clusterroles/${name}`);
    assert.equal(valueAt(role, "metadata", "labels", "kubernetes.io/bootstrapping"), "rbac-defaults");
  }
  const admin = await expect(200, "GET", `${rbac}/clusterrolebindings/cluster-admin`);
  assert.deepEqual(admin["subjects"], [{ kind: "Group", apiGroup: group, name: "system:masters" }]);
}

/** Roles made of others: of those with a label, in the order of their names, equal rules once. */
async function aggregation(contract: Contract): Promise<void> {
  const name = nameIn(contract, "all");
  const label = { [`example.com/${contract.namespace}`]: "true" };
  const getPods = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };
  const getNodes = { apiGroups: [""], resources: ["nodes"], verbs: ["get"] };
  const rulesBecome = async (path: string, rules: readonly Rule[]): Promise<void> => {
    const wanted = JSON.stringify(rules.map(sortKeys));
    const rulesOf = (answer: Answer): string => JSON.stringify(objectsAt(answer.json, "rules").map(sortKeys));
    await contract.until(path, (answer) => rulesOf(answer) === wanted);
  };
  await withAccess(contract, async ({ create }) => {
    await create("clusterroles", roleBody(`${name}-b`, [getNodes, getPods], { labels: label }));
    await create("clusterroles", roleBody(`${name}-a`, [getPods], { labels: label }));
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: label }] };
    await create("clusterroles", { ...roleBody(name, []), aggregationRule });
    const path = `${rbac}/clusterroles/${name}`;
    await rulesBecome(path, [getPods, getNodes]);
    await contract.expect(200, "DELETE", `${rbac}/clusterroles/${name}-b`);
    await rulesBecome(path, [getPods]);
    const patch = { body: { rules: [getNodes] }, type: "application/merge-patch+json" };
    await contract.expect(200, "PATCH", path, patch);
    await rulesBecome(path, [getPods]);
  });
  for (const [role, verb] of [
    ["view", "watch"],
    ["edit", "delete"],
    ["admin", "deletecollection"],
  ]) {
    const holds = (answer: Answer): boolean =>
      JSON.stringify(objectsAt(answer.json, "rules")).includes(`"${verb}"`);
    await contract.until(`${rbac}/clusterroles/${role}`, holds);
  }
}

const wrongObjects: readonly (readonly [plural: string, body: Fields, message: string])[] = [
  [
    "roles",
    roleBody("x", [{ verbs: ["get"], nonResourceURLs: ["/a"] }]),
    `Role.${group} "x" is invalid: rules[0].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs`,
  ],
  [
    "roles",
    roleBody("x", [{ apiGroups: [""] }, { verbs: ["get"], resources: ["pods"] }]),
    `Role.${group} "x" is invalid: [rules[0].verbs: Required value: verbs must contain at least one value, rules[0].resources: Required value: resource rules must supply at least one resource, rules[1].apiGroups: Required value: resource rules must supply at least one api group]`,
  ],
  [
    "clusterroles",
    { ...roleBody("x", []), aggregationRule: {} },
    `ClusterRole.${group} "x" is invalid: aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil`,
  ],
  [
    "rolebindings",
    bindingBody("x", "Roll/y", [
      { kind: "ServiceAccount", name: "A" },
      { kind: "Robot", name: "" },
    ]),
    `RoleBinding.${group} "x" is invalid: [roleRef.kind: Unsupported value: "Roll": supported values: "Role", "ClusterRole", subjects[0].name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), subjects[1].name: Required value, subjects[1].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"]`,
  ],
  [
    "clusterrolebindings",
    bindingBody("x", "Role/y", [{ kind: "ServiceAccount", name: "a" }]),
    `ClusterRoleBinding.${group} "x" is invalid: [roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole", subjects[0].namespace: Required value]`,
  ],
];

async function validation(contract: Contract): Promise<void> {
  const { call, namespace, expect } = contract;
  for (const [plural, body, message] of wrongObjects) {
    const at = plural.startsWith("cluster") ? rbac : `${rbac}/namespaces/${namespace}`;
    const answer = await call("POST", `${at}/${plural}`, { body });
    assert.equal(textAt(answer.json, "message"), message);
    assert.equal(answer.code, 422);
  }
  const bindings = `${rbac}/namespaces/${namespace}/rolebindings`;
  const made = await expect(201, "POST", bindings, { body: bindingBody("x", "Role/a", [user("u")]) });
  assert.deepEqual(made["subjects"], [{ kind: "User", apiGroup: group, name: "u" }]);
  const changed = await call("PUT", `${bindings}/x`, { body: bindingBody("x", "Role/b", [user("u")]) });
  assert.equal(changed.code, 422, changed.text);
  assert.equal(
    textAt(changed.json, "message"),
    `RoleBinding.${group} "x" is invalid: roleRef: Invalid value: {"APIGroup":"${group}","Kind":"Role","Name":"b"}: cannot change roleRef`,
  );
}

/** The right to patch is not that to create. */
async function appliedCreation(contract: Contract): Promise<void> {
  const joe = nameIn(contract, "joe");
  await withAccess(contract, async ({ create, until, contract: { path, call } }) => {
    const verbs = ["get", "patch"];
    await create("roles", roleBody("patcher", [{ apiGroups: [""], resources: ["configmaps"], verbs }]));
    await create("rolebindings", bindingBody("patchers", "Role/patcher", [user(joe)]));
    await until(404, "GET", path("configmaps", "x"), { as: joe });
    const answer = await call("PATCH", `${path("configmaps", "x")}?fieldManager=me`, {
      as: joe,
      type: "application/apply-patch+yaml",
      body: configMapBody("x"),
    });
    forbids(
      answer,
      `configmaps "x" is forbidden: User "${joe}" cannot create resource "configmaps" in API group "" in the namespace "${contract.namespace}"`,
    );
  });
}

export const authorizationCases: readonly ContractCase[] = [
  { name: "forbids what no role allows, in these words", run: refusals },
  { name: "lets everybody discover what is served", run: openToAll },
  { name: "knows users, groups and service accounts in bindings", run: subjects },
  { name: "allows by names, wildcards and subresources", run: namesAndStars },
  { name: "binds ClusterRoles in a namespace and in the cluster, and their paths", run: clusterRoles },
  { name: "says which role a binding misses", run: missingRole },
  { name: "answers reviews of access", run: accessReviews },
  { name: "refuses reviews that ask nothing", run: wrongAccessReviews },
  { name: "lists the rules of a user", run: rulesReviews },
  { name: "gives away no right that the user does not have", run: escalation },
  { name: "lets those escalate and bind who may", run: escalateAndBind },
  { name: "impersonates users, their groups and accounts", run: impersonation },
  { name: "has the default roles", run: defaultRoles },
  { name: "aggregates ClusterRoles", run: aggregation },
  { name: "refuses malformed roles and bindings", run: validation },
  { name: "asks for the right to create where an apply creates", run: appliedCreation },
];
