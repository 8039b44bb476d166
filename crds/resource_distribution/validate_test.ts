import t from "tap";
import { formatFieldErrors } from "../../kube/core/index.ts";
import type { ResourceDistributionSpec } from "./schema.ts";
import {
  contentProblem,
  invalidResource,
  validateDistributedResource,
  validateDistributionTargets,
} from "./validate.ts";

const settings = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" } };

function distribution(
  resource: ResourceDistributionSpec["resource"],
  targets: ResourceDistributionSpec["targets"] = {},
) {
  return { metadata: { name: "d" }, spec: { resource, targets } };
}

t.test("Secrets and ConfigMaps with a name", async (t) => {
  const refusal = (resource: ResourceDistributionSpec["resource"]) =>
    formatFieldErrors(validateDistributedResource(distribution(resource), undefined));
  t.equal(refusal(settings), "");
  t.equal(refusal({ ...settings, kind: "Secret" }), "");
  const words = "unknown or unsupported resource GroupKind, only support [Secret ConfigMap]";
  t.equal(refusal({ ...settings, kind: "Service" }), `spec.resource: Invalid value: Service: ${words}`);
  t.equal(
    refusal({ ...settings, apiVersion: "apps/v1", kind: "Deployment" }),
    `spec.resource: Invalid value: Deployment.apps: ${words}`,
  );
  t.equal(
    refusal({ ...settings, apiVersion: "example.org/v1" }),
    `spec.resource: Invalid value: ConfigMap.example.org: ${words}`,
  );
  t.match(refusal({ ...settings, metadata: {} }), /^spec\.resource\.metadata\.name: Required value/);
  t.match(refusal({ metadata: {} }), /only support/);
});

t.test("apiVersion, kind and name stay", async (t) => {
  const words = 'spec.resource: Invalid value: "null": resource apiVersion, kind, and name are immutable';
  const change = (resource: ResourceDistributionSpec["resource"]) =>
    formatFieldErrors(validateDistributedResource(distribution(resource), distribution(settings)));
  t.equal(change({ ...settings, metadata: { name: "settings", labels: { a: "b" } } }), "");
  t.equal(change({ ...settings, metadata: { name: "other" } }), words);
  t.equal(change({ ...settings, kind: "Secret" }), words);
});

t.test("content is refused in the words of a refusal by the server", async (t) => {
  t.equal(contentProblem(settings), undefined);
  t.equal(contentProblem({ kind: "Service" }), undefined);
  const problem = contentProblem({ ...settings, kind: "Secret", data: { key: "geheim!" } }) ?? "";
  t.equal(
    formatFieldErrors([invalidResource(problem)]),
    'spec.resource: Invalid value: "null": spec.resource is invalid: data[key]: Invalid value: must be base64',
  );
});

t.test("targets", async (t) => {
  const refusal = (targets: ResourceDistributionSpec["targets"]) =>
    formatFieldErrors(validateDistributionTargets(distribution(settings, targets)));
  const named = (...names: string[]) => ({ list: names.map((name) => ({ name })) });
  t.equal(refusal({}), "");
  t.equal(
    refusal({ allNamespaces: true, includedNamespaces: named("a"), excludedNamespaces: named("b") }),
    "",
  );
  t.match(
    refusal({ includedNamespaces: named("a", "b", "c"), excludedNamespaces: named("c", "a") }),
    /^spec\.targets: Invalid value: .*: ambiguous targets because namespace \[a c\] is in both IncludedNamespaces\.List and ExcludedNamespaces\.List$/,
  );
  t.match(
    refusal({ excludedNamespaces: named("A b") }),
    /^spec\.targets\.excludedNamespaces: Invalid value: "A b": a lowercase RFC 1123 label must/,
  );
  t.match(
    refusal({ includedNamespaces: named("") }),
    /^spec\.targets\.includedNamespaces: Invalid value: ""/,
  );
  t.match(
    refusal({ namespaceSelector: { matchLabels: { "a b": "" } } }),
    /^spec\.targets\.namespaceSelector: Invalid value: .*: labelSelectorAsSelector error: /,
  );
});
