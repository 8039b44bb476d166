import t from "tap";
import {
  dns1035LabelErrors,
  dnsLabelErrors,
  formatFieldError,
  formatFieldErrors,
  validateObjectMeta,
} from "../../index.ts";

const complaints = (meta: object, namespaced = true) =>
  validateObjectMeta(meta, "metadata", { namespaced }).map(formatFieldError);
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

t.test("names and namespaces", (t) => {
  t.same(complaints({ name: "a.b", namespace: "n" }), []);
  t.same(complaints({ name: "A", namespace: "n" }), [`metadata.name: Invalid value: "A": ${subdomain}`]);
  t.same(complaints({}), [
    "metadata.name: Required value: name or generateName is required",
    "metadata.namespace: Required value",
  ]);
  t.same(complaints({ name: "a", namespace: "n" }, false), [
    "metadata.namespace: Forbidden: not allowed on this type",
  ]);
  t.same(complaints({ name: "a-x", generateName: "a-", namespace: "n" }), [], "a prefix may end with a dash");
  t.same(complaints({ name: "a", namespace: "n", generation: -1 }), [
    "metadata.generation: Invalid value: -1: must be greater than or equal to 0",
  ]);
  const byLabel = validateObjectMeta({ name: "a.b" }, "metadata", {
    namespaced: false,
    nameRule: dnsLabelErrors,
  });
  t.equal(formatFieldErrors(byLabel), 'metadata.name: Invalid value: "a.b": must not contain dots');
  t.equal(dns1035LabelErrors("1a").length, 1);
  t.same(dns1035LabelErrors("a1"), []);
  t.end();
});

t.test("owners and finalizers", (t) => {
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u", controller: true };
  t.same(
    complaints({ name: "a", namespace: "n", ownerReferences: [owner], finalizers: ["x.io/y", "orphan"] }),
    [],
  );
  const twice = complaints({ name: "a", namespace: "n", ownerReferences: [owner, { ...owner, name: "q" }] });
  t.equal(twice.length, 1);
  t.match(
    twice[0],
    /Only one reference can have Controller set to true. Found "true" in references for Pod\/p and Pod\/q$/,
  );
  t.same(complaints({ name: "a", namespace: "n", ownerReferences: [{ apiVersion: "apps/" }] }), [
    'metadata.ownerReferences.apiVersion: Invalid value: "apps/": version must not be empty',
    'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
    'metadata.ownerReferences.name: Invalid value: "": must not be empty',
    'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
  ]);
  t.equal(complaints({ name: "a", namespace: "n", finalizers: ["orphan", "foregroundDeletion"] }).length, 1);
  t.equal(complaints({ name: "a", namespace: "n", finalizers: ["a b"] }).length, 1);
  const core = validateObjectMeta({ name: "a", finalizers: ["mine", "orphan", "x.io/y"] }, "metadata", {
    namespaced: false,
    coreKind: true,
  });
  t.equal(
    formatFieldErrors(core),
    'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
  );
  t.end();
});
