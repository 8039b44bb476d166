import t from "tap";
import { run } from "../../testkit/cli/command_fixture.ts";
import { golden } from "../../testkit/cli/golden.ts";
import { type AnyObject, at, listAt, textAt } from "../fields.ts";
import { parseManifests } from "../manifest_input.ts";
import { managerRules } from "./access.ts";

async function printed(flags = "") {
  const { code, stdout } = await run(`manifests ${flags}`);
  t.equal(code, 0);
  return parseManifests(stdout, "manifests");
}

t.test("what is installed, in the order of its use", async (t) => {
  const names = (await printed()).map(
    (object) => `${object.apiVersion} ${object.kind} ${object.metadata.name}`,
  );
  t.equal(`${names.join("\n")}\n`, golden("manifests.txt", `${names.join("\n")}\n`));
  t.match(names.at(-1), /WebhookConfiguration/, "from the last on the API server asks the controller");
});

t.test("with a host webhooks go there and no Service is made", async (t) => {
  const objects = await printed("--webhook-host 127.0.0.1 --webhook-port 1234");
  t.notOk(objects.some((object) => object.kind === "Service"));
  for (const object of objects.filter(({ kind }) => kind?.endsWith("WebhookConfiguration"))) {
    for (const webhook of listAt(object, "webhooks")) {
      t.match(textAt(webhook, "clientConfig", "url"), /^https:\/\/127\.0\.0\.1:1234\//);
      t.equal(at(webhook, "clientConfig", "service"), undefined);
    }
  }
});

t.test("rights on all Secrets and ConfigMaps are given on request", async (t) => {
  const role = "kruise-resource-distribution-role";
  const named = (objects: readonly AnyObject[]) => objects.filter(({ metadata }) => metadata.name === role);
  t.same(named(await printed("")), []);
  const [found] = named(await printed("--distribute-resources"));
  t.match(listAt(found ?? {}, "rules"), [{ resources: ["secrets", "configmaps"] }]);
});

t.test(
  "of ConfigMaps the controller makes and patches barriers, and reads its configuration alone",
  async (t) => {
    const roles = (await printed("--controller-image refit:1 --agent-image agent:1")).filter(({ kind }) =>
      ["Role", "ClusterRole"].includes(kind ?? ""),
    );
    const rules = roles.flatMap((role) => listAt(role, "rules"));
    const ofConfigMaps = rules.filter((rule) =>
      listAt(rule, "resources").some((one) => one === "configmaps" || one === "*"),
    );
    const told = ofConfigMaps.map((rule) => JSON.stringify(rule));
    t.same([...new Set(told)].sort(), [
      '{"apiGroups":[""],"resources":["configmaps"],"verbs":["create","patch"]}',
      '{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"],"resourceNames":["kruise-configuration"]}',
    ]);
  },
);

t.test("the controller's role: no wildcards but to read scales, no secrets cluster-wide", (t) => {
  for (const { resources, verbs, apiGroups } of managerRules()) {
    // Budgets count the pods of workloads of any kind that can be scaled.
    if (resources.join() === "*/scale") t.same(verbs, ["get"]);
    else t.notOk([...resources, ...verbs, ...apiGroups].includes("*"));
    t.notOk(resources.includes("secrets"));
  }
  t.end();
});
