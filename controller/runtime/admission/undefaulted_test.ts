/** What was stored while no webhook looked has no defaults: filled in with the next update, they are no change. Every kind, in every version. */
import t from "tap";
import { convertObject, kinds as definitions } from "../../../crds/index.ts";
import { cloneJson, type JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { defaulted, handlersOf, withGates } from "../../../testkit/controller/kind_admission.ts";
import { gatedObjects, minimalObjects } from "../../../testkit/controller/minimal_objects.ts";
import { kinds } from "../../kinds.ts";

/** Every gate is on but the one that leaves templates as they are. */
const gates = withGates("AllAlpha=true,AllBeta=true,TemplateNoDefaults=false");

const app = { app: "web" };
const selector = { matchLabels: app };
const podOf = (image: string, more: object = {}) => ({
  metadata: { labels: app },
  spec: { containers: [{ name: "main", image }], ...more },
});
const claim = { metadata: { name: "data" }, spec: { resources: { requests: { storage: "1Gi" } } } };
const workload = (image: string) => ({ selector, template: podOf(image), volumeClaimTemplates: [claim] });
const daemons = (image: string) => ({ selector, template: podOf(image) });
const job = { template: podOf("web:1", { restartPolicy: "Never" }) };
const united = (name: string, spec: object) => ({
  selector,
  template: { [name]: { metadata: { labels: app }, spec } },
  topology: { subsets: [{ name: "a", nodeSelectorTerm: { matchExpressions: [] } }] },
});

/** With what minimal ones lack, and one of them with another image. */
const fuller: readonly { kind: string; spec: object; next?: object }[] = [
  { kind: "CloneSet", spec: workload("web:1"), next: workload("web:2") },
  { kind: "StatefulSet", spec: workload("web:1"), next: workload("web:2") },
  { kind: "DaemonSet", spec: daemons("web:1"), next: daemons("web:2") },
  { kind: "AdvancedCronJob", spec: { schedule: "*/5 * * * *", template: { jobTemplate: { spec: job } } } },
  ...["statefulSetTemplate", "advancedStatefulSetTemplate", "cloneSetTemplate"].map((name) => ({
    kind: "UnitedDeployment",
    spec: united(name, workload("web:1")),
    next: united(name, workload("web:2")),
  })),
];

const samples: typeof fuller = [...minimalObjects, ...gatedObjects, ...fuller];
for (const { kind: name, spec, next = spec } of samples) {
  const kind = kinds.find(({ resource }) => resource.kind === name);
  const definition = definitions.find((each) => each.kind === name);
  if (kind === undefined || definition === undefined) throw new Error(`no kind ${name}`);
  const { group, conversion, versions } = definition;
  const storage = versions.find((version) => version.storage)?.name ?? "";
  for (const { name: version } of versions) {
    t.test(`${name} ${version}`, async (t) => {
      const of = (given: object, labels: object): JsonObject => {
        const metadata = { name: "sample", namespace: "default", labels };
        const object = {
          apiVersion: `${group}/${storage}`,
          kind: name,
          metadata,
          spec: cloneJson({ ...given }),
        };
        const apiVersion = `${group}/${version}`;
        return conversion === "None" ? { ...object, apiVersion } : convertObject(object, apiVersion);
      };
      const oldObject = of(spec, {});
      const object = await defaulted(kind, of(next, { more: "label" }), oldObject, gates);
      for (const handler of handlersOf(kind, "validating", gates))
        t.match(await handler(admissionRequest({ object, oldObject })), { allowed: true });
    });
  }
}
