import { readFileSync } from "node:fs";
import fc from "fast-check";
import t from "tap";
import {
  canonicalPodTemplate,
  defaultPod,
  defaultPodTemplate,
  formatFieldError,
  formatFieldErrors,
  isJsonObject,
  validatePodSpec,
  validatePodTemplate,
  validateTypes,
} from "../../index.ts";

interface Answer {
  readonly name: string;
  readonly template: object;
  readonly errors: readonly string[];
}

function isAnswer(value: unknown): value is Answer {
  return isJsonObject(value) && isJsonObject(value["template"]) && Array.isArray(value["errors"]);
}

/**
 * What Kubernetes 1.34 answered about each template, recorded, with the options of the reference: any seLinuxChangePolicy, and
 * any text among the values of affinities.
 */
const recorded: unknown = JSON.parse(readFileSync(new URL("testdata/answers.json", import.meta.url), "utf8"));
const answers = Array.isArray(recorded) ? recorded.filter(isAnswer) : [];

const complaints = (template: object) =>
  validatePodTemplate(defaultPodTemplate(template, { imagePullPolicy: "ByTag" }), "spec.template").map(
    formatFieldError,
  );

t.test("the complaints are those of Kubernetes, word for word", (t) => {
  t.ok(answers.length > 50);
  for (const { name, template, errors } of answers) {
    t.strictSame(complaints(template).sort(), [...errors].sort(), name);
  }
  t.end();
});

const container = { name: "c", image: "i" };
const only = (part: object, spec: object = {}) =>
  complaints({ spec: { containers: [{ ...container, ...part }], ...spec } });

t.test("what differs only in how the value is printed", (t) => {
  t.match(only({ securityContext: { allowPrivilegeEscalation: false, privileged: true } }), [
    /securityContext: Invalid value: \{.*\}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true$/,
  ]);
  t.match(only({ securityContext: { seccompProfile: { type: "Unconfined", localhostProfile: "a" } } }), [
    /seccompProfile.localhostProfile: Invalid value: \{.*\}: can only be set when seccomp type is Localhost$/,
  ]);
  t.match(only({}, { resourceClaims: [{ name: "a" }] }), [
    /resourceClaims\[0\]: Invalid value: \{.*\}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`$/,
  ]);
  t.same(only({ securityContext: { windowsOptions: { hostProcess: true } } }), [
    "spec.template.spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
  ]);
  const big = complaints({
    metadata: { annotations: { a: "x".repeat(262_200) } },
    spec: { containers: [container] },
  });
  t.same(big, ["spec.template.annotations: Too long: may not be more than 262144 bytes"]);
  t.end();
});

t.test(
  "values of expressions that select pods and nodes may be no label values; keys and labels may not",
  (t) => {
    const expression = (key: string) => ({ key, operator: "In", values: ["-no label-"] });
    const selector = (key: string, label = "b") => ({
      labelSelector: { matchLabels: { a: label }, matchExpressions: [expression(key)] },
    });
    const zone = { topologyKey: "zone" };
    const required = "requiredDuringSchedulingIgnoredDuringExecution";
    const places: ((key: string, label?: string) => object)[] = [
      (key) => ({
        affinity: {
          nodeAffinity: { [required]: { nodeSelectorTerms: [{ matchExpressions: [expression(key)] }] } },
        },
      }),
      (key, label) => ({ affinity: { podAffinity: { [required]: [{ ...zone, ...selector(key, label) }] } } }),
      (key, label) => ({
        topologySpreadConstraints: [
          { ...zone, maxSkew: 1, whenUnsatisfiable: "DoNotSchedule", ...selector(key, label) },
        ],
      }),
    ];
    for (const [index, place] of places.entries()) {
      t.strictSame(only({}, place("k")), []);
      t.match(only({}, place("-k-")).join(), /matchExpressions\[0\]\.key: Invalid value: "-k-"/);
      if (index > 0) t.match(only({}, place("k", "-b-")).join(), /matchLabels: Invalid value: "-b-"/);
    }
    t.end();
  },
);

t.test("addresses", (t) => {
  const bad = (ip: string) => only({}, { hostAliases: [{ ip }] }).length > 0;
  for (const ip of [
    "1.2.3.4",
    "01.2.3.004",
    "::",
    "::1",
    "1::",
    "fe80::1:2",
    "1:2:3:4:5:6:7:8",
    "::ffff:1.2.3.4",
    "1:2:3:4:5:6:1.2.3.4",
  ]) {
    t.notOk(bad(ip), ip);
  }
  for (const ip of [
    "",
    "1.2.3",
    "1.2.3.256",
    ":",
    ":::",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "::g",
    "fe80::1%eth0",
    "1.2.3.4::",
    "12345::",
  ]) {
    t.ok(bad(ip), ip);
  }
  t.end();
});

t.test("claim templates are volumes", (t) => {
  const template = defaultPodTemplate({
    spec: { containers: [{ ...container, volumeMounts: [{ name: "www", mountPath: "/www" }] }] },
  });
  t.equal(
    formatFieldErrors(validatePodTemplate(template, "spec.template")),
    'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "www"',
  );
  t.same(validatePodTemplate(template, "spec.template", { claimTemplates: ["www"] }), []);
  t.end();
});

t.test("pods: ports on the host's network are checked", (t) => {
  const pod = { spec: { hostNetwork: true, containers: [{ ...container, ports: [{ containerPort: 80 }] }] } };
  t.same(validatePodSpec(defaultPod(pod)), []);
  const text = formatFieldErrors(validatePodSpec({ ...defaultPod(pod), spec: { ...pod.spec } }));
  t.match(text, /spec\.containers\[0\]\.ports\[0\]\.hostPort: Invalid value: 0: must match `containerPort`/);
  t.end();
});

t.test("values of wrong types are found", (t) => {
  const template = {
    metadata: { labels: { a: 1 } },
    spec: {
      containers: [{ image: 7, ports: "x", resources: { limits: { cpu: "much", memory: true } } }, 5],
      hostNetwork: "yes",
      terminationGracePeriodSeconds: 1.5,
      volumes: null,
    },
  };
  t.same(validateTypes(template, "PodTemplateSpec", "spec.template").map(formatFieldError), [
    'spec.template.metadata.labels[a]: Invalid value: "number": must be of type string: "number"',
    'spec.template.spec.containers[0].image: Invalid value: "number": must be of type string: "number"',
    'spec.template.spec.containers[0].ports: Invalid value: "string": must be of type array: "string"',
    `spec.template.spec.containers[0].resources.limits[cpu]: Invalid value: "much": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
    'spec.template.spec.containers[0].resources.limits[memory]: Invalid value: "boolean": must be of type quantity: "boolean"',
    'spec.template.spec.containers[1]: Invalid value: "number": must be of type object: "number"',
    'spec.template.spec.terminationGracePeriodSeconds: Invalid value: "number": must be of type integer: "number"',
    'spec.template.spec.hostNetwork: Invalid value: "string": must be of type boolean: "string"',
  ]);
  t.end();
});

t.test("whatever stands in a template, nothing throws and the given object stays", (t) => {
  const junk = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(null, 0, -1, 1.5, "", "x", "1", true),
      fc.array(tie("value"), { maxLength: 3 }),
      tie("object"),
    ),
    object: fc.dictionary(
      fc.constantFrom(
        ...[
          "name",
          "image",
          "ports",
          "env",
          "resources",
          "limits",
          "cpu",
          "volumes",
          "emptyDir",
          "containers",
        ],
        ...[
          "initContainers",
          "securityContext",
          "affinity",
          "metadata",
          "labels",
          "spec",
          "__proto__",
          "valueFrom",
        ],
      ),
      tie("value"),
      { noNullPrototype: true },
    ),
  })).object;
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(junk, junk, (spec, part) => {
        const template = { metadata: part, spec: Object.assign({}, spec, { containers: [part] }) };
        const before = JSON.stringify(template);
        validatePodTemplate(defaultPodTemplate(template), "spec.template");
        validateTypes(template, "PodTemplateSpec", "");
        canonicalPodTemplate(template);
        validatePodSpec(defaultPod(template));
        return JSON.stringify(template) === before;
      }),
      { seed: 23, numRuns: 200 },
    ),
  );
  t.end();
});
