import t from "tap";
import { run } from "../../testkit/cli/command_fixture.ts";
import { at, listAt, textAt } from "../fields.ts";
import { parseManifests } from "../manifest_input.ts";
import { agentReasons } from "./agent.ts";
import { deploymentReasons } from "./controller_deployment.ts";
import { safeguardReasons } from "./safeguards.ts";
import { webhookReasons } from "./webhooks.ts";

const whole = "--controller-image refit:1 --agent-image refit-agent:1";

async function printed(flags: string) {
  const { code, stdout } = await run(`manifests ${flags}`);
  t.equal(code, 0);
  const objects = parseManifests(stdout, "manifests");
  return { stdout, objects, find: (kind: string) => objects.find((object) => object.kind === kind) };
}

/** What a policy lets through: who, undefined for everybody, to which ports. */
function lets(rules: readonly unknown[], peers: "from" | "to") {
  return rules.map((rule) => ({
    who: at(rule, peers),
    ports: listAt(rule, "ports").map((port) => `${at(port, "port")} ${textAt(port, "protocol")}`),
  }));
}

t.test("the policy lets through the ports that the controller has, and no others", async (t) => {
  const { find } = await printed(`${whole} --webhook-port 9443`);
  const policy = find("NetworkPolicy");
  const labels = at(find("Deployment"), "spec", "template", "metadata", "labels");
  t.same(at(policy, "spec", "podSelector", "matchLabels"), labels);
  const container = listAt(find("Deployment"), "spec", "template", "spec", "containers")[0];
  const served = listAt(container, "ports").map((port) => `${at(port, "containerPort")} TCP`);
  const ingress = lets(listAt(policy, "spec", "ingress"), "from");
  t.same(ingress.flatMap(({ ports }) => ports).sort(), served.sort());
  t.same(ingress[0], { who: undefined, ports: ["9443 TCP", "8000 TCP"] }, "API servers have any address");
  t.same(ingress[1]?.who, [{ namespaceSelector: {} }], "metrics are for pods");
  t.same(lets(listAt(policy, "spec", "egress"), "to"), [
    { who: undefined, ports: ["443 TCP", "6443 TCP", "8443 TCP", "16443 TCP"] },
    { who: undefined, ports: ["53 UDP", "53 TCP"] },
  ]);
});

t.test("an API server at another port", async (t) => {
  const { find } = await printed(`${whole} --api-server-port 7443 --api-server-port 8443`);
  const [first] = lets(listAt(find("NetworkPolicy"), "spec", "egress"), "to");
  t.same(first?.ports, ["7443 TCP", "8443 TCP"]);
  const wrong = await run(`manifests ${whole} --api-server-port 70000`);
  t.match([wrong.code, wrong.stderr], [1, /"70000" for --api-server-port: must be a port/]);
});

t.test("a drain takes one replica after the other, also the only one", async (t) => {
  const { find } = await printed(`${whole} --controller-replicas 1`);
  const budget = at(find("PodDisruptionBudget"), "spec");
  t.equal(at(budget, "maxUnavailable"), 1);
  t.equal(at(budget, "minAvailable"), undefined);
  t.same(at(budget, "selector"), at(find("Deployment"), "spec", "selector"));
});

t.test("the quota speaks of the classes that the pods have", async (t) => {
  const { find } = await printed(whole);
  const classes = listAt(find("ResourceQuota"), "spec", "scopeSelector", "matchExpressions", 0, "values");
  const used = ["Deployment", "DaemonSet"].map((kind) =>
    textAt(find(kind), "spec", "template", "spec", "priorityClassName"),
  );
  t.same(used, classes);
});

t.test("nothing of it without a controller or an agent in the cluster", async (t) => {
  const { objects } = await printed("");
  const kinds = objects.map(({ kind }) => kind);
  for (const kind of ["NetworkPolicy", "PodDisruptionBudget", "ResourceQuota"])
    t.notOk(kinds.includes(kind), kind);
});

t.test("each reason is printed above the field that it is about", async (t) => {
  const { stdout } = await printed(whole);
  const reasons = { ...deploymentReasons, ...agentReasons, ...safeguardReasons, ...webhookReasons };
  for (const [object, fields] of Object.entries(reasons)) {
    const [kind, name] = object.split("/");
    const text = stdout
      .split("---\n")
      .find((one) => one.includes(`\nkind: ${kind}\n`) && one.includes(`\n  name: ${name}\n`));
    const lines = (text ?? "").split("\n");
    for (const [path, reason] of Object.entries(fields)) {
      const flat = lines.map((line) => line.replace(/^[ -]*# ?/, "").trim()).join(" ");
      const start = flat.indexOf(reason);
      t.ok(start >= 0, `${object} ${path}`);
      const field = path.split(".").at(-1) ?? "";
      const after = flat.slice(start + reason.length).trimStart();
      if (!/^\d+$/.test(field)) t.ok(after.startsWith(`${field}:`), `${object} ${path} is above its field`);
    }
  }
});
