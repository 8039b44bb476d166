import t from "tap";
import { systemClock } from "../../kube/core/index.ts";
import { credentialsOf, openTarget } from "../../testkit/api_contract/target.ts";
import { startSandbox } from "../start.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";

t.test("a small role that names a great many rights is no long work", async (t) => {
  const sandbox = await startSandbox({ seed: 5, clock: systemClock });
  const target = openTarget(credentialsOf(sandbox.kubeconfig));
  t.teardown(async () => {
    await target.close();
    await sandbox.stop();
  });
  const many = Array.from({ length: 1000 }, (_, at) => `x${at}`);
  const writer = { apiGroups: ["*"], resources: ["roles"], verbs: ["create"] };
  const role = (name: string, rules: readonly object[]) => ({ body: { metadata: { name }, rules } });
  const body = {
    metadata: { name: "writer" },
    roleRef: { kind: "ClusterRole", name: "writer" },
    subjects: [{ kind: "User", name: "joe" }],
  };
  t.equal((await target.call("POST", `${rbac}/clusterroles`, role("writer", [writer]))).code, 201);
  t.equal((await target.call("POST", `${rbac}/clusterrolebindings`, { body })).code, 201);
  const roles = `${rbac}/namespaces/default/roles`;
  const huge = role("huge", [{ apiGroups: many, resources: many, verbs: many }]);
  const refused = await target.call("POST", roles, { ...huge, as: "joe" });
  t.equal(refused.code, 413, refused.text);
  t.equal((await target.call("POST", roles, huge)).code, 201, "the administrator may");
  const ample = role("ample", [{ apiGroups: ["a"], resources: many, verbs: ["get", "list"] }]);
  t.equal((await target.call("POST", roles, { ...ample, as: "joe" })).code, 403);
});
