/** Ingresses and network policies, which manifests of workloads bring along. */
import assert from "node:assert/strict";
import { type Fields, listAt, objectsAt, textAt, valueAt } from "../../sandbox/json.ts";
import type { Contract, ContractCase } from "./case.ts";

const table = "application/json;as=Table;v=v1;g=meta.k8s.io";

const pathsOf = ({ namespace }: Contract, plural: string): string =>
  `/apis/networking.k8s.io/v1/namespaces/${namespace}/${plural}`;

const path = (changes: Fields = {}): Fields => ({
  path: "/",
  pathType: "Prefix",
  backend: { service: { name: "web", port: { number: 80 } } },
  ...changes,
});

function ingress(paths: readonly Fields[], spec: Fields = {}): Fields {
  const rules = [{ host: "a.example.com", http: { paths } }];
  return { metadata: { name: "web" }, spec: { rules, ...spec } };
}

async function ingressesLive(contract: Contract): Promise<void> {
  const { expect } = contract;
  const at = pathsOf(contract, "ingresses");
  const spec = { ingressClassName: "nginx", tls: [{ hosts: ["a.example.com"], secretName: "s" }] };
  const made = await expect(201, "POST", at, { body: ingress([path()], spec) });
  assert.deepEqual(made["status"], { loadBalancer: {} });
  const { columnDefinitions, rows } = await expect(200, "GET", at, { accept: table });
  const columns = (Array.isArray(columnDefinitions) ? columnDefinitions : []).map((one) =>
    textAt(one, "name"),
  );
  assert.deepEqual(columns, ["Name", "Class", "Hosts", "Address", "Ports", "Age"]);
  const [row] = Array.isArray(rows) ? rows : [];
  assert.deepEqual(listAt(row, "cells").slice(0, 5), ["web", "nginx", "a.example.com", "", "80, 443"]);
  // As `kubectl apply` sends a change: lists of rules are replaced as a whole.
  const changed = await expect(200, "PATCH", `${at}/web`, {
    type: "application/strategic-merge-patch+json",
    body: { spec: { rules: [{ host: "b.example.com", http: { paths: [path({ path: "/b" })] } }] } },
  });
  assert.deepEqual(
    objectsAt(changed, "spec", "rules").map((rule) => textAt(rule, "host")),
    ["b.example.com"],
  );
  assert.equal(valueAt(changed, "metadata", "generation"), 2);
}

async function ingressesAreRefused(contract: Contract): Promise<void> {
  const at = `${pathsOf(contract, "ingresses")}?dryRun=All`;
  const where = "spec.rules[0].http.paths[0]";
  const refusals: readonly (readonly [Fields, string])[] = [
    [
      { metadata: { name: "web" }, spec: {} },
      "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified",
    ],
    [
      ingress([{ path: "/", backend: path()["backend"] }]),
      `${where}.pathType: Required value: pathType must be specified`,
    ],
    [ingress([path({ path: "x" })]), `${where}.path: Invalid value: "x": must be an absolute path`],
    [
      ingress([path({ backend: { service: { name: "web", port: {} } } })]),
      `${where}.backend: Required value: port name or number is required`,
    ],
  ];
  for (const [body, complaint] of refusals) {
    const refused = await contract.expect(422, "POST", at, { body });
    assert.equal(textAt(refused, "message"), `Ingress.networking.k8s.io "web" is invalid: ${complaint}`);
  }
}

async function policiesAreCompleted(contract: Contract): Promise<void> {
  const at = pathsOf(contract, "networkpolicies");
  const podSelector = { matchLabels: { app: "web" } };
  const closed = { metadata: { name: "in" }, spec: { podSelector, ingress: [{ ports: [{ port: 80 }] }] } };
  const made = await contract.expect(201, "POST", at, { body: closed });
  assert.deepEqual(valueAt(made, "spec", "policyTypes"), ["Ingress"]);
  assert.deepEqual(valueAt(made, "spec", "ingress"), [{ ports: [{ port: 80, protocol: "TCP" }] }]);
  const open = { metadata: { name: "out" }, spec: { podSelector, egress: [{}] } };
  const both = await contract.expect(201, "POST", at, { body: open });
  assert.deepEqual(valueAt(both, "spec", "policyTypes"), ["Ingress", "Egress"]);
  const shown = await contract.expect(200, "GET", at, { accept: table });
  const rows = objectsAt(shown, "rows").map((row) => listAt(row, "cells").slice(0, 2));
  assert.deepEqual(rows, [
    ["in", "app=web"],
    ["out", "app=web"],
  ]);
}

export const networkingCases: readonly ContractCase[] = [
  { name: "keeps ingresses, prints them and merges their changes", run: ingressesLive },
  { name: "refuses ingresses that lead nowhere", run: ingressesAreRefused },
  { name: "completes network policies", run: policiesAreCompleted },
];
