/** Updates that overtake each other: in the end the pod is as the last template says, beside what others wrote. */
import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { envHash, plainHash } from "../../../kube/core/index.ts";
import type { Pod, PodContainer } from "../../../kube/index.ts";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { inPlaceChange, type Template } from "./change.ts";
import { isCompleted } from "./completion.ts";
import { GRACE_ANNOTATION, RUNTIME_META_ANNOTATION, STATE_ANNOTATION } from "./state.ts";
import { withUnissued } from "./unissued.ts";
import { refreshInPlace, startInPlace } from "./update.ts";

const start = Date.UTC(2026, 0, 1);
const options = { verticalScaling: true, resizeSubresource: true, resetsManagers: true };
const changeOptions = { verticalScaling: true, envFromMetadata: true };
/** The last one is called like a member that every object inherits. */
const containers = ["a", "b", "constructor"] as const;
/** Annotations that containers read. */
const reads: Readonly<Record<(typeof containers)[number], readonly string[]>> = {
  a: ["x"],
  b: ["x", "y"],
  constructor: [],
};
const foreign = { labels: { theirs: "1" }, annotations: { theirs: "1" }, finalizers: ["x/theirs"] };

const few = fc.constantFrom("1", "2", "3");
const entries = fc.dictionary(fc.constantFrom("x", "y", "constructor"), few);
const ofEach = fc.record({ a: few, b: few, constructor: few });
interface Asked {
  readonly images: Readonly<Record<(typeof containers)[number], string>>;
  readonly cpu: Readonly<Record<(typeof containers)[number], string>>;
  readonly memory: Readonly<Record<(typeof containers)[number], string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly finalizers: readonly string[];
}
const asked: fc.Arbitrary<Asked> = fc.record({
  images: ofEach,
  cpu: ofEach,
  memory: ofEach,
  labels: entries,
  annotations: entries,
  finalizers: fc.subarray(["x/1", "x/2"]),
});

function templateOf({ images, cpu, memory, labels, annotations, finalizers }: Asked): Template {
  return {
    metadata: {
      ...(Object.keys(labels).length > 0 ? { labels: { ...labels } } : {}),
      ...(Object.keys(annotations).length > 0 ? { annotations: { ...annotations } } : {}),
      ...(finalizers.length > 0 ? { finalizers } : {}),
    },
    spec: {
      containers: containers.map((name) => ({
        name,
        image: `${name}:${images[name]}`,
        resources: { requests: { cpu: cpu[name], memory: `${memory[name]}Gi` } },
        env: reads[name].map((key) => ({ name: key, valueFrom: { fieldRef: { fieldPath: pathOf(key) } } })),
      })),
    },
  };
}

const pathOf = (key: string): string => `metadata.annotations['${key}']`;

function podOf(template: Template, priorities: readonly (number | undefined)[]): Pod {
  const { metadata, spec } = template;
  return barePod("app-0", {
    phase: "Running",
    nodeName: "n",
    readinessGates: ["InPlaceUpdateReady"],
    labels: { ...foreign.labels, ...metadata?.labels },
    annotations: { ...foreign.annotations, ...metadata?.annotations },
    finalizers: [...foreign.finalizers, ...(metadata?.finalizers ?? [])],
    containers: containers.map((name, index): PodContainer => {
      const { image = "", resources = {} } = spec?.containers?.[index] ?? {};
      const priority = priorities[index];
      const barrier = { name: "KRUISE_CONTAINER_BARRIER", configMapKey: { name: "b", key: `p_${priority}` } };
      return {
        name,
        image,
        resources: { limits: {}, requests: amounts(resources.requests) },
        env: [
          ...reads[name].map((key) => ({ name: key, fieldPath: pathOf(key) })),
          ...(priority === undefined ? [] : [barrier]),
        ],
        resizePolicy: {},
      };
    }),
  });
}

const amounts = (map: Readonly<Record<string, string | number>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [key, String(value)]));

/** Its node and the agent there have done all that the pod asks for. */
function run(pod: Pod): Pod {
  const containerStatuses = pod.containers.map(({ name, image, resources }) => ({
    name,
    image,
    imageID: `id-of-${image}`,
    containerID: `c-${name}-${image}`,
    ready: true,
    restartCount: 0,
    resources,
  }));
  const meta = pod.containers.map(({ name, image }, index) => ({
    name,
    containerID: containerStatuses[index]?.containerID,
    restartCount: 0,
    hashes: {
      plainHash: plainHash(name, image),
      extractedEnvFromMetadataHash: envHash(
        containers
          .filter((each) => each === name)
          .flatMap((each) => reads[each])
          .map((key) => ({ name: key, value: pod.annotations[key] ?? "" })),
      ),
    },
  }));
  const annotations = { ...pod.annotations, [RUNTIME_META_ANNOTATION]: JSON.stringify({ containers: meta }) };
  return { ...pod, annotations, containerStatuses };
}

const step = fc.oneof(
  fc.record({ asked, graceSeconds: fc.constantFrom(0, 0, 5) }),
  fc.constantFrom("refresh" as const, "refresh" as const, "run" as const, "wait" as const),
);

t.test("property: in the end nothing is lost, nothing is left, and what others wrote stays", async (t) => {
  let overtaken = 0;
  const property = fc.property(
    asked,
    fc.array(fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined }), { minLength: 3, maxLength: 3 }),
    fc.array(step, { minLength: 2, maxLength: 14 }),
    (first, priorities, steps) => {
      let template = templateOf(first);
      let pod = run(podOf(template, priorities));
      let now = start;
      const refresh = (): boolean => {
        const next = refreshInPlace(pod, () => true, options, now);
        if (next.kind === "write") pod = next.write.after;
        return next.kind === "write";
      };
      for (const [index, one] of steps.entries()) {
        now += 1000;
        if (one === "refresh") refresh();
        else if (one === "run") pod = run(pod);
        else if (one === "wait") now += 5000;
        else {
          const next = templateOf(one.asked);
          const { change } = inPlaceChange(template, next, changeOptions);
          if (change === undefined) throw new Error("this is possible in place");
          if (!isCompleted(pod, options)) overtaken++;
          const target = {
            revision: `app-${index}`,
            labels: {},
            graceSeconds: one.graceSeconds,
            lifecycle: true,
            lean: false,
          };
          pod = startInPlace(pod, withUnissued(pod, change), target, options, now).after;
          template = next;
        }
      }
      for (let round = 0; round < 12; round++) {
        now += 61_000;
        pod = run(pod);
        refresh();
      }
      assert.ok(isCompleted(pod, options), "the last update ends");
      const wanted = podOf(template, priorities);
      const own = new Set([STATE_ANNOTATION, GRACE_ANNOTATION, RUNTIME_META_ANNOTATION]);
      const ours = (map: Pod["labels"]) =>
        Object.fromEntries(
          Object.entries(map).filter(([key]) => !own.has(key) && !key.startsWith("lifecycle.")),
        );
      assert.deepEqual(ours(pod.labels), wanted.labels);
      assert.deepEqual(ours(pod.annotations), wanted.annotations);
      assert.deepEqual([...pod.finalizers].sort(), [...wanted.finalizers].sort());
      assert.deepEqual(pod.containers, wanted.containers);
    },
  );
  fc.assert(property, { seed: 57, numRuns: 400 });
  t.ok(overtaken > 100, `${overtaken} updates were overtaken`);
});
