/** No list stalls an event loop: a template with 16 times as many items costs at most in proportion. */
import process from "node:process";
import t from "tap";
import { defaultPodTemplate, type JsonObject, validatePodTemplate } from "../../kube/core/index.ts";

type Item = (index: number) => JsonObject;
type Maker = (items: (make: Item) => JsonObject[]) => { spec?: JsonObject; container?: JsonObject };

const makers: Readonly<Record<string, Maker>> = {
  env: (items) => ({ container: { env: items((n) => ({ name: `E${n}`, value: "1" })) } }),
  ports: (items) => ({ container: { ports: items((n) => ({ name: `p${n}`, containerPort: n + 1 })) } }),
  mounts: (items) => ({
    spec: { volumes: items((n) => ({ name: `v${n}`, emptyDir: {} })) },
    container: { volumeMounts: items((n) => ({ name: `v${n}`, mountPath: `/m${n}` })) },
  }),
  claims: (items) => ({
    spec: { resourceClaims: items((n) => ({ name: `other-${n}`, resourceClaimName: "x" })) },
    container: { resources: { claims: items((n) => ({ name: `c${n}`, request: n % 2 ? "r" : "" })) } },
  }),
  tolerations: (items) => ({ spec: { tolerations: items((n) => ({ key: `k${n}`, operator: "Exists" })) } }),
  spread: (items) => ({
    spec: {
      topologySpreadConstraints: items((n) => ({
        maxSkew: 1,
        topologyKey: `k${n}`,
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: {},
      })),
    },
  }),
  hosts: (items) => ({
    spec: { hostAliases: items((n) => ({ ip: "1.2.3.4", hostnames: [`h${n}`] })) },
  }),
  gates: (items) => ({
    spec: {
      readinessGates: items((n) => ({ conditionType: `a.b/c${n}` })),
      schedulingGates: items((n) => ({ name: `g${n}` })),
      imagePullSecrets: items((n) => ({ name: `g${n}` })),
    },
  }),
  initContainers: (items) => ({ spec: { initContainers: items((n) => ({ name: `i${n}`, image: "x" })) } }),
};

function template(make: Maker, count: number): JsonObject {
  const { spec, container } = make((item) => Array.from({ length: count }, (_, index) => item(index)));
  return {
    metadata: { labels: { a: "b" } },
    spec: { containers: [{ name: "a", image: "x", ...container }], ...spec },
  };
}

/** Milliseconds of processor time to default and check as many templates as hold `long` items. */
function cost(make: Maker, count: number): number {
  const given = template(make, count);
  const before = process.threadCpuUsage();
  for (let done = 0; done < long; done += count)
    validatePodTemplate(defaultPodTemplate(given), "spec.template", {});
  const { user, system } = process.threadCpuUsage(before);
  return Math.max(resolutionMs, (user + system) / 1000);
}

const short = 1000;
const long = 16 * short;
/** What the clock can tell. */
const resolutionMs = 20;

for (const [name, make] of Object.entries(makers)) {
  t.test(name, (t) => {
    const costs = Array.from({ length: 4 }, () => [cost(make, short), cost(make, long)] as const);
    const [least, most] = [0, 1].map((side) => Math.min(...costs.map((pair) => pair[side] ?? 0)));
    // In proportion the same, a square 16 times as much.
    t.ok(
      (most ?? 0) < 6 * (least ?? 0),
      `${Math.round(least ?? 0)} ms in parts, ${Math.round(most ?? 0)} ms at once`,
    );
    t.end();
  });
}
