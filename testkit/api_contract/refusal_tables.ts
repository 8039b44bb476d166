/** Calls that are refused for what they are, with the words. */
import type { Fields } from "../../sandbox/json.ts";
import { configMapBody, podBody } from "./objects.ts";
import type { CallOptions } from "./target.ts";

export interface Refusal {
  readonly name: string;
  readonly method: string;
  /** `~` stands for `/api/v1/namespaces/<own>`. */
  readonly path: string;
  readonly options?: CallOptions;
  readonly code: number;
  readonly reason?: string;
  readonly message: string;
  readonly details?: Fields;
}

const container = (changes: Fields): Fields =>
  podBody("p", { spec: { containers: [{ name: "a", image: "x", ...changes }] } });
const jobSpec = (podSpec: Fields): Fields => ({
  template: { spec: { containers: [{ name: "a", image: "x" }], ...podSpec } },
});
const noEnd = 'Required value: valid values: "OnFailure", "Never"';
const newest = "the server could not find the requested resource";

export const refusals: readonly Refusal[] = [
  {
    name: "absent object",
    method: "GET",
    path: "~/pods/nope",
    code: 404,
    reason: "NotFound",
    message: 'pods "nope" not found',
    details: { name: "nope", kind: "pods" },
  },
  {
    name: "absent object of a named group",
    method: "GET",
    path: "/apis/apps/v1/namespaces/default/deployments/nope",
    code: 404,
    reason: "NotFound",
    message: 'deployments.apps "nope" not found',
    details: { name: "nope", group: "apps", kind: "deployments" },
  },
  {
    name: "unknown resource",
    method: "GET",
    path: "/api/v1/nothing",
    code: 404,
    reason: "NotFound",
    message: newest,
  },
  {
    name: "namespaced resource without namespace",
    method: "GET",
    path: "/api/v1/configmaps/x",
    code: 404,
    reason: "NotFound",
    message: newest,
  },
  {
    name: "wrong method",
    method: "PUT",
    path: "~/configmaps",
    options: { body: {} },
    code: 405,
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
  },
  {
    name: "absent namespace",
    method: "POST",
    path: "/api/v1/namespaces/absent/configmaps",
    options: { body: configMapBody("x") },
    code: 404,
    reason: "NotFound",
    message: 'namespaces "absent" not found',
    details: { name: "absent", kind: "namespaces" },
  },
  {
    name: "other namespace in the body",
    method: "POST",
    path: "~/configmaps",
    options: { body: { metadata: { name: "x", namespace: "other" } } },
    code: 400,
    reason: "BadRequest",
    message: "the namespace of the provided object does not match the namespace sent on the request",
  },
  {
    name: "no name",
    method: "POST",
    path: "~/configmaps",
    options: { body: { metadata: {} } },
    code: 422,
    reason: "Invalid",
    message: 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
  },
  {
    name: "bad name",
    method: "POST",
    path: "~/configmaps",
    options: { body: { metadata: { name: "X_" } } },
    code: 422,
    reason: "Invalid",
    message: `ConfigMap "X_" is invalid: metadata.name: Invalid value: "X_": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  },
  {
    name: "version at creation",
    method: "POST",
    path: "~/configmaps",
    options: { body: { metadata: { name: "x", resourceVersion: "1" } } },
    code: 500,
    message: "resourceVersion should not be set on objects to be created",
  },
  {
    name: "wrong type of a list",
    method: "POST",
    path: "~/pods",
    options: { body: podBody("p", { spec: { containers: "a" } }) },
    code: 400,
    reason: "BadRequest",
    message:
      'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container',
  },
  {
    name: "wrong type of a text",
    method: "POST",
    path: "~/pods",
    options: { body: container({ name: 1 }) },
    code: 400,
    reason: "BadRequest",
    message:
      'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string',
  },
  {
    name: "wrong quantity",
    method: "POST",
    path: "~/pods",
    options: { body: container({ resources: { limits: { cpu: "1x" } } }) },
    code: 400,
    reason: "BadRequest",
    message: `Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
  },
  {
    name: "unknown and repeated fields",
    method: "POST",
    path: "~/pods?fieldValidation=Strict",
    options: {
      body: '{"metadata":{"name":"x","foo":1},"spec":{"a":1,"a":2,"containers":[{"name":"a","b":1,"image":"x","image":"y"}]}}',
    },
    code: 400,
    reason: "BadRequest",
    message:
      'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "metadata.foo", unknown field "spec.a", unknown field "spec.containers[0].b", duplicate field "spec.containers[0].image"',
  },
  {
    name: "unknown body type",
    method: "POST",
    path: "~/pods",
    options: { body: "{}", type: "text/plain" },
    code: 415,
    reason: "UnsupportedMediaType",
    message:
      "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
  },
  {
    name: "no containers",
    method: "POST",
    path: "~/pods",
    options: { body: { metadata: { name: "x" } } },
    code: 422,
    reason: "Invalid",
    message: 'Pod "x" is invalid: spec.containers: Required value',
    details: {
      name: "x",
      kind: "Pod",
      causes: [{ reason: "FieldValueRequired", message: "Required value", field: "spec.containers" }],
    },
  },
  {
    name: "job whose pods would never end",
    method: "POST",
    path: "/apis/batch/v1/namespaces/default/jobs",
    options: { body: { metadata: { name: "j" }, spec: jobSpec({}) } },
    code: 422,
    reason: "Invalid",
    message: `Job.batch "j" is invalid: spec.template.spec.restartPolicy: ${noEnd}`,
    details: {
      name: "j",
      group: "batch",
      kind: "Job",
      causes: [{ reason: "FieldValueRequired", message: noEnd, field: "spec.template.spec.restartPolicy" }],
    },
  },
  {
    name: "job whose pods are always restarted",
    method: "POST",
    path: "/apis/batch/v1/namespaces/default/jobs",
    options: { body: { metadata: { name: "j" }, spec: jobSpec({ restartPolicy: "Always" }) } },
    code: 422,
    reason: "Invalid",
    message: `Job.batch "j" is invalid: spec.template.spec.restartPolicy: ${noEnd}`,
  },
  {
    name: "job with a failure policy and restarts",
    method: "POST",
    path: "/apis/batch/v1/namespaces/default/jobs",
    options: {
      body: {
        metadata: { name: "j" },
        spec: { ...jobSpec({ restartPolicy: "OnFailure" }), podFailurePolicy: { rules: [] } },
      },
    },
    code: 422,
    reason: "Invalid",
    message:
      'Job.batch "j" is invalid: spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified',
  },
  {
    name: "cron job whose pods would never end",
    method: "POST",
    path: "/apis/batch/v1/namespaces/default/cronjobs",
    options: {
      body: {
        metadata: { name: "c" },
        spec: { schedule: "0 0 1 1 *", jobTemplate: { spec: jobSpec({}) } },
      },
    },
    code: 422,
    reason: "Invalid",
    message: `CronJob.batch "c" is invalid: spec.jobTemplate.spec.template.spec.restartPolicy: ${noEnd}`,
  },
  {
    name: "label selector that ends early",
    method: "GET",
    path: "~/pods?labelSelector=a===b",
    code: 400,
    reason: "BadRequest",
    message: "unable to parse requirement: found '=', expected: identifier",
  },
  {
    name: "unknown field selector of pods",
    method: "GET",
    path: "~/pods?fieldSelector=foo=bar",
    code: 400,
    reason: "BadRequest",
    message: "field label not supported: foo",
  },
  {
    name: "unknown field selector",
    method: "GET",
    path: "/apis/apps/v1/deployments?fieldSelector=foo=bar",
    code: 400,
    reason: "BadRequest",
    message: '"foo" is not a known field selector: only "metadata.name", "metadata.namespace"',
  },
  {
    name: "bad version of a list",
    method: "GET",
    path: "~/pods?resourceVersion=x",
    code: 400,
    reason: "BadRequest",
    message:
      'invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax',
  },
  {
    name: "streaming list without match",
    method: "GET",
    path: "~/pods?watch=1&sendInitialEvents=true",
    code: 422,
    reason: "Invalid",
    message:
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
  },
  {
    name: "match without version",
    method: "GET",
    path: "~/pods?resourceVersionMatch=Exact",
    code: 422,
    reason: "Invalid",
    message:
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
  },
  {
    name: "unknown match",
    method: "GET",
    path: "~/pods?resourceVersionMatch=Foo&resourceVersion=1",
    code: 422,
    reason: "Invalid",
    message:
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""',
  },
  {
    name: "unwanted answer type",
    method: "GET",
    path: "~/pods",
    options: { accept: "text/html" },
    code: 406,
    reason: "NotAcceptable",
    message:
      "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
  },
  {
    name: "unknown dry run",
    method: "POST",
    path: "~/configmaps?dryRun=Some",
    options: { body: configMapBody("x") },
    code: 422,
    reason: "Invalid",
    message:
      'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
  },
  {
    name: "unknown propagation",
    method: "DELETE",
    path: "~/configmaps/x?propagationPolicy=Some",
    code: 422,
    reason: "Invalid",
    message:
      'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Some": supported values: "Foreground", "Background", "Orphan", "nil"',
  },
];
