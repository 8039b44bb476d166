/** Match conditions of webhooks: which expressions are refused, and what the others decide. */
import assert from "node:assert/strict";
import { type Fields, textAt } from "../../sandbox/json.ts";
import { type Hook, startHook } from "./admission_cases.ts";
import type { Contract, ContractCase } from "./case.ts";
import { conditionDecisions, conditionRefusals } from "./condition_tables.ts";
import { configMapBody } from "./objects.ts";

const base = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

function webhook(
  { namespace }: Contract,
  hook: Pick<Hook, "url" | "caBundle">,
  name: string,
  expressions: readonly string[],
  changes: Fields = {},
): Fields {
  return {
    name: `${name}.example.com`,
    clientConfig: { url: `${hook.url}/${name}`, caBundle: hook.caBundle },
    rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["*"] }],
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    matchConditions: expressions.map((expression, at) => ({ name: `condition-${at}`, expression })),
    ...changes,
  };
}

function configuration({ namespace }: Contract, webhooks: readonly Fields[]): Fields {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: namespace },
    webhooks,
  };
}

/** Runs with the webhooks in place. A real server takes a moment to see a new configuration. */
async function withWebhooks(
  contract: Contract,
  webhooks: (hook: Hook) => readonly Fields[],
  run: (hook: Hook, create: (name: string) => ReturnType<Contract["call"]>) => Promise<void>,
): Promise<void> {
  const hook = await startHook(() => ({ allowed: true }));
  const create = (name: string) =>
    contract.call("POST", `${contract.path("configmaps")}?dryRun=All`, { body: configMapBody(name) });
  const probe = webhook(contract, hook, "probe", ["request.name == 'probe'"]);
  const isSeen = (): boolean => hook.paths.includes("/hook/probe");
  const body = configuration(contract, [...webhooks(hook), probe]);
  try {
    await contract.expect(201, "POST", base, { body });
    for (let attempt = 0; !isSeen() && attempt < 200; attempt++) {
      await create("probe");
      if (!isSeen()) await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await run(hook, create);
  } finally {
    await contract.call("DELETE", `${base}/${contract.namespace}`);
    await hook.close();
  }
}

const only = (name: string): string => `request.name == '${name}'`;

/** Each condition has a webhook of its own, which a second condition gives one ConfigMap alone. */
function conditionsDecide(contract: Contract): Promise<void> {
  const caseName = (at: number): string => `case-${at}`;
  const webhooks = (hook: Hook): Fields[] =>
    conditionDecisions.map(([expression], at) => {
      return webhook(contract, hook, caseName(at), [expression, only(caseName(at))]);
    });
  return withWebhooks(contract, webhooks, async (hook, create) => {
    const wrong: string[] = [];
    for (const [at, [expression, outcome]] of conditionDecisions.entries()) {
      const name = caseName(at);
      const answer = await create(name);
      const asked = hook.paths.includes(`/hook/${name}`) ? "asked" : "skipped";
      const error = `configmaps "${name}" is forbidden: expression '${expression.trim()}' resulted in error: `;
      const message = textAt(answer.json, "message");
      const fits =
        typeof outcome === "string"
          ? answer.code === 201 && asked === outcome
          : answer.code === 403 && message.startsWith(error) && outcome.test(message.slice(error.length));
      if (!fits) wrong.push(`${expression}: ${answer.code}, ${asked}, ${message}`);
    }
    assert.deepEqual(wrong, []);
  });
}

function failurePolicyDecides(contract: Contract): Promise<void> {
  const wrong = "object.data.missing == 'x'";
  const other = "object.data.gone == 'x'";
  const webhooks = (hook: Hook): Fields[] => [
    webhook(contract, hook, "ignored", [wrong, only("ignored")], { failurePolicy: "Ignore" }),
    webhook(contract, hook, "twice", [wrong, other, only("twice")]),
    webhook(contract, hook, "decided", [wrong, "false", only("decided")]),
  ];
  return withWebhooks(contract, webhooks, async (hook, create) => {
    for (const name of ["ignored", "decided"]) {
      const made = await create(name);
      assert.equal(made.code, 201, made.text);
    }
    const refused = await create("twice");
    assert.equal(refused.code, 403, refused.text);
    assert.equal(textAt(refused.json, "reason"), "Forbidden");
    const first = `expression '${wrong}' resulted in error: no such key: missing`;
    const second = `expression '${other}' resulted in error: no such key: gone`;
    assert.equal(textAt(refused.json, "message"), `configmaps "twice" is forbidden: [${first}, ${second}]`);
    assert.deepEqual(new Set(hook.paths), new Set(["/hook/probe"]));
  });
}

const nowhere = { url: "https://127.0.0.1:1/hook", caBundle: "" };

async function wrongExpressions(contract: Contract): Promise<void> {
  const wrong: string[] = [];
  for (const [expression, complaint] of conditionRefusals) {
    const body = configuration(contract, [webhook(contract, nowhere, "hook", [expression])]);
    const refused = await contract.call("POST", `${base}?dryRun=All`, { body });
    const where = "webhooks[0].matchConditions[0].expression: Invalid value: ";
    const why = complaint.startsWith("must") ? complaint : `compilation failed: ERROR: <input>:${complaint}`;
    const expected = `is invalid: ${where}${JSON.stringify(expression)}: ${why}`;
    const message = textAt(refused.json, "message");
    if (refused.code !== 422 || !message.includes(expected))
      wrong.push(`${message || refused.text}\nis not\n${expected}`);
  }
  assert.deepEqual(wrong, []);
}

async function wrongConditions(contract: Contract): Promise<void> {
  const refusal = async (matchConditions: readonly Fields[]): Promise<string> => {
    const body = configuration(contract, [webhook(contract, nowhere, "hook", [], { matchConditions })]);
    const refused = await contract.call("POST", `${base}?dryRun=All`, { body });
    assert.equal(refused.code, 422, refused.text);
    return textAt(refused.json, "message");
  };
  const message = await refusal([
    { name: "same", expression: "true" },
    { name: "same", expression: "  " },
    { name: "not/a/name", expression: "true" },
    { expression: "true" },
  ]);
  const path = "webhooks[0].matchConditions";
  for (const expected of [
    `${path}[1].expression: Required value`,
    `${path}[1].name: Duplicate value: "same"`,
    `${path}[2].name: Invalid value: "not/a/name": a qualified name must consist of`,
    `${path}[3].name: Required value`,
  ]) {
    assert.ok(message.includes(expected), `${message}\nlacks\n${expected}`);
  }
  const many = Array.from({ length: 65 }, (_, at) => ({ name: `n${at}`, expression: "true" }));
  assert.match(await refusal(many), /matchConditions: Too many: 65: must have at most 64 items/);
}

export const conditionCases: readonly ContractCase[] = [
  { name: "asks webhooks where their match conditions hold", run: conditionsDecide },
  {
    name: "conditions that cannot be evaluated are decided by the failure policy",
    run: failurePolicyDecides,
  },
  { name: "refuses conditions that cannot be compiled, and says where", run: wrongExpressions },
  { name: "refuses conditions without name or expression", run: wrongConditions },
];
