import t from "tap";
import type { RuntimeContainer } from "../container.ts";
import { type AgentPod, agentPod } from "../pod.ts";
import {
  actualEnvHash,
  environmentLack,
  expectedEnvHash,
  isKubeletBehind,
  metaAnnotation,
  needsReport,
  planContainerMeta,
} from "./plan.ts";

interface Options {
  readonly label?: string;
  readonly meta?: string;
  readonly held?: boolean;
  readonly owner?: string;
  readonly env?: readonly object[];
  readonly image?: string;
  readonly generation?: number;
  readonly observedGeneration?: number;
}

const env = [{ name: "TEST_ENV", valueFrom: { fieldRef: { fieldPath: "metadata.labels['k']" } } }];

function pod(options: Options = {}): AgentPod {
  return agentPod({
    metadata: {
      name: "web",
      namespace: "default",
      uid: "u",
      generation: options.generation ?? 1,
      labels: { k: options.label ?? "foo" },
      annotations: options.meta === undefined ? {} : { [metaAnnotation]: options.meta },
      ownerReferences: [
        {
          apiVersion: options.owner ?? "apps.kruise.io/v1beta1",
          kind: "CloneSet",
          name: "c",
          controller: true,
        },
      ],
    },
    spec: { containers: [{ name: "main", image: options.image ?? "nginx:1.25", env: options.env ?? env }] },
    status: {
      observedGeneration: options.observedGeneration ?? 0,
      conditions: [{ type: "InPlaceUpdateReady", status: options.held ? "False" : "True" }],
      containerStatuses: [{ name: "main", containerID: "containerd://c1", ready: true, restartCount: 0 }],
    },
  });
}

const seen: RuntimeContainer = {
  name: "main",
  id: "c1",
  restartCount: 0,
  state: "running",
  startedAt: 0,
  exitCode: 0,
  hash: "19fd1bfc",
};
const containers = new Map([["main", seen]]);
const foo = new Map([["c1", 27323935]]);
const annotationOf = (options: Options = {}): string =>
  planContainerMeta({ pod: pod(options), containers, envHashes: foo }, true).annotation ?? "";

t.test("the annotation is the reference's, byte for byte", async (t) => {
  t.equal(
    annotationOf(),
    '{"containers":[{"name":"main","containerID":"containerd://c1","restartCount":0,"hashes":{"plainHash":436018172,"extractedEnvFromMetadataHash":27323935}}]}',
  );
  const plan = planContainerMeta({ pod: pod(), containers, envHashes: new Map() }, false);
  t.notMatch(plan.annotation, "extractedEnvFromMetadataHash");
});

t.test("hash vectors", async (t) => {
  const [main] = pod().containers;
  const [none] = pod({ env: [{ name: "A", value: "x" }] }).containers;
  if (!main || !none) throw new Error("the pod has a container");
  t.equal(expectedEnvHash(main, pod()), 27323935);
  t.equal(expectedEnvHash(main, pod({ label: "bar" })), 3944769931);
  t.equal(expectedEnvHash(none, pod()), 86995377);
  const inherited = {
    name: "TEST_ENV",
    valueFrom: { fieldRef: { fieldPath: "metadata.labels['constructor']" } },
  };
  const [odd] = pod({ env: [inherited] }).containers;
  t.equal(odd && expectedEnvHash(odd, pod()), expectedEnvHash(main, pod({ label: "" })), "no such label");
  t.equal(actualEnvHash(main, new Map([["TEST_ENV", "bar"]])), 3944769931);
});

t.test("what is reported already is not reported again", async (t) => {
  const meta = annotationOf();
  t.notOk(needsReport(pod({ meta }), true));
  t.equal(planContainerMeta({ pod: pod({ meta }), containers, envHashes: foo }, true).annotation, undefined);
  t.ok(needsReport(pod(), true));
  t.ok(needsReport(pod({ meta: "{broken" }), true));
  t.ok(needsReport(pod({ meta, label: "bar" }), true), "the expected environment changed");
  t.notOk(needsReport(pod({ owner: "apps/v1" }), true), "only pods of the API's workloads");
});

t.test("containers restart for a new environment only while the pod is held for an update", async (t) => {
  const meta = annotationOf();
  const free = planContainerMeta({ pod: pod({ meta, label: "bar" }), containers, envHashes: foo }, true);
  t.same(free.restart, []);
  const held = planContainerMeta(
    { pod: pod({ meta, label: "bar", held: true }), containers, envHashes: foo },
    true,
  );
  t.same(held.restart, [{ name: "main", containerId: "c1", wanted: 3944769931 }]);
  t.equal(environmentLack(pod({ meta, label: "bar", held: true }), seen, true)?.wanted, 3944769931);
  t.equal(environmentLack(pod({ meta, label: "bar" }), seen, true), undefined);
  const equal = planContainerMeta({ pod: pod({ meta, held: true }), containers, envHashes: foo }, true);
  t.same(equal.restart, []);
  const gateOff = planContainerMeta(
    { pod: pod({ meta, label: "bar", held: true }), containers, envHashes: foo },
    false,
  );
  t.same(gateOff.restart, []);
});

t.test("what the kubelet restarts itself for another image is left to it", async (t) => {
  const meta = annotationOf();
  const restarts = (options: Options): number => {
    const asked = pod({ meta, label: "bar", held: true, ...options });
    return planContainerMeta({ pod: asked, containers, envHashes: foo }, true).restart.length;
  };
  const seenByKubelet = { generation: 2, observedGeneration: 2 };
  t.equal(restarts(seenByKubelet), 1);
  t.equal(restarts({ ...seenByKubelet, image: "nginx:1.26" }), 0);
  t.equal(
    restarts({ image: "nginx:1.26" }),
    1,
    "an older kubelet reports no generation, and hashes otherwise",
  );
  t.notOk(isKubeletBehind(pod(seenByKubelet)));
  t.ok(isKubeletBehind(pod({ generation: 2, observedGeneration: 1 })));
  t.notOk(isKubeletBehind(pod({ generation: 2 })), "an older kubelet reports no generation");
});

t.test("a container that the runtime has in another instance waits for the pod's status", async (t) => {
  const other = new Map([["main", { ...seen, id: "c2" }]]);
  t.same(planContainerMeta({ pod: pod(), containers: other, envHashes: foo }, true), { restart: [] });
});
