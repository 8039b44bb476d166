/** What people do to definitions with kubectl, and that it takes effect. */
import t from "tap";
import { cloneJson, systemClock } from "../../kube/core/index.ts";
import { widgetDefinition } from "../../testkit/api_contract/custom_cases.ts";
import { kubectlFor, withoutKubectl } from "../../testkit/sandbox/kubectl.ts";
import { setAt } from "../json.ts";
import { startSandbox } from "../start.ts";

const group = "example.com";
const specPath = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";

t.test("apply and patch change what is served", { skip: withoutKubectl }, async (t) => {
  const sandbox = await startSandbox({ seed: 7, clock: systemClock });
  t.teardown(() => sandbox.stop());
  const kubectl = kubectlFor(t, sandbox.kubeconfig);
  const apply = (object: object) => kubectl(["apply", "-f", "-"], object);
  const specOf = async (name: string): Promise<unknown> =>
    JSON.parse((await kubectl(["get", "widgets", name, "-o", "jsonpath={.spec}"])).stdout);
  const widget = (name: string, spec: object) => ({
    apiVersion: `${group}/v1`,
    kind: "Widget",
    metadata: { name },
    spec,
  });

  const definition = widgetDefinition(group);
  t.match(await apply(definition), { code: 0, stdout: "created" });
  t.match(await apply(definition), { code: 0, stdout: "unchanged" });
  t.match(await apply(widget("a", { color: "red", weight: 5 })), { stderr: 'unknown field "spec.weight"' });

  const changed = cloneJson(definition);
  const weight = { type: "integer", default: 7 };
  for (const version of Object.values(Object(changed["spec"]).versions))
    setAt(
      Object(version),
      ["schema", "openAPIV3Schema", "properties", "spec", "properties", "weight"],
      weight,
    );
  t.match(await apply(changed), { code: 0, stdout: "configured" });
  t.match(await apply(widget("a", { color: "red" })), { code: 0, stdout: "created" });
  t.match(await specOf("a"), { weight: 7 });
  t.equal((await kubectl(["diff", "-f", "-"], changed)).code, 0);

  const names = { spec: { names: { shortNames: ["wid"] } } };
  t.match(await kubectl(["patch", "crd", `widgets.${group}`, "-p", JSON.stringify(names)]), { code: 0 });
  t.match(await kubectl(["get", "wid", "-o", "name"]), { code: 0, stdout: `widget.${group}/a` });
  const size = [{ op: "add", path: `${specPath}/size`, value: { type: "string" } }];
  t.match(await kubectl(["patch", "crd", `widgets.${group}`, "--type", "json", "-p", JSON.stringify(size)]), {
    code: 0,
  });
  t.match(await apply(widget("b", { color: "red", size: "big" })), { code: 0, stdout: "created" });
  t.match(await specOf("b"), { size: "big" });
});
