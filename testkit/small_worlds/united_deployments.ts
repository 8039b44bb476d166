/** Small worlds of one UnitedDeployment. Spec: uniteddeployment 4. */
import { planUnitedDeployment } from "../../controller/kinds/united_deployment/plan.ts";
import type { SubsetTemplateName, UnitedDeployment } from "../../crds/index.ts";
import type { UnitedStage } from "./united_rules.ts";
import { withOrphan } from "./united_server.ts";
import type { UnitedScenario } from "./united_world.ts";

type Spec = UnitedDeployment["spec"];
type Topology = NonNullable<Spec["topology"]>;
type Subset = NonNullable<Topology["subsets"]>[number];

const labels = { app: "web" };

function template(image: string, name: SubsetTemplateName = "statefulSetTemplate"): Spec["template"] {
  const pods = { metadata: { labels }, spec: { containers: [{ name: "main", image }] } };
  const isCloneSet = name === "cloneSetTemplate";
  const more = isCloneSet ? { updateStrategy: { rollingUpdate: { maxUnavailable: 1 } } } : {};
  const spec = { selector: { matchLabels: labels }, template: pods, ...more };
  return { [name]: { metadata: { labels }, spec } };
}

const closing = { rescheduleCriticalSeconds: 30, unschedulableDuration: 300 };
const adaptive: Topology["scheduleStrategy"] = { type: "Adaptive", adaptive: closing };
const reserving: Topology["scheduleStrategy"] = {
  type: "Adaptive",
  adaptive: { ...closing, reserveUnschedulablePods: true },
};

/** `pods`: of the whole; `mishaps`: how many may have happened. */
export function unitedScenarios(pods: number, mishaps: number): UnitedScenario[] {
  const scenario = (name: string, ...stages: UnitedScenario["stages"]): UnitedScenario => ({
    name: `UnitedDeployment ${name}`,
    stages,
    plan: planUnitedDeployment,
  });
  const adapting: typeof scenario = (...all) => ({ ...scenario(...all), isSlow: true });
  const over = (...subsets: Subset[]): Partial<Spec> => ({ topology: { subsets } });
  const web = (image: string): Partial<Spec> => ({ template: template(`web:${image}`) });
  const kept = (partitions: Record<string, number>): Partial<Spec> => ({
    updateStrategy: { manualUpdate: { partitions } },
  });
  const a: Subset = { name: "a", replicas: 1 };
  const b: Subset = { name: "b" };
  const rest = pods - 1;
  const sizes = [{ a: 1, b: rest }];
  const spec = { replicas: pods, revisionHistoryLimit: 2, ...web("1"), ...over(a, b) };
  const reserved = { ...spec, ...spread(reserving), template: template("web:1", "cloneSetTemplate") };
  const before: UnitedStage = { name: "as it was", spec, sizes };
  const after = (name: string, spec: Partial<Spec>, more: Partial<UnitedStage> = {}): UnitedStage => ({
    name,
    spec,
    sizes,
    ...more,
  });
  const image = after("a new image", web("2"));
  return [
    scenario("made", { ...before, spec: { ...spec, replicas: 0, ...over() }, sizes: [{}] }, before),
    scenario("with a new image", before, image),
    scenario(
      "held by its partitions, then let go",
      before,
      after("a new image", { ...web("2"), ...kept({ a: 1, b: rest }) }, { old: pods }),
      after("no partition for b", kept({ a: 1 }), { old: 1 }),
    ),
    scenario("undone", before, image, after("the old image", web("1"))),
    scenario(
      "with three images and a short history",
      { ...before, spec: { ...spec, revisionHistoryLimit: 1 } },
      image,
      after("a third image", web("3")),
    ),
    scenario("stuck with a bad image, then a good one", before, after("a bad image", web("bad")), image),
    scenario(
      "scaled out and in",
      before,
      after("one pod more", { replicas: pods + 1 }, { sizes: [{ a: 1, b: pods }] }),
      after("one pod", { replicas: 1 }, { sizes: [{ a: 1, b: 0 }] }),
    ),
    scenario(
      "with another subset in the place of one",
      before,
      after("c in the place of a", over({ ...a, name: "c" }, b), { sizes: [{ b: rest, c: 1 }] }),
    ),
    scenario(
      "of another kind of workload",
      before,
      after("CloneSets", { template: template("web:2", "cloneSetTemplate") }),
    ),
    scenario(
      "with a patch for one subset",
      before,
      after("a patch", over(a, { ...b, patch: patchOf("web:2") })),
    ),
    scenario(
      "with numbers that cannot be met, then can",
      before,
      after("two in a", { ...over({ ...a, replicas: pods + 1 }, b), ...web("2") }, { isImpossible: true }),
      after("one in a", over(a, b)),
    ),
    scenario(
      "with a workload that nobody owns",
      before,
      after(
        "a subset more, and somebody's workload for it",
        { ...over(a, b, { ...a, name: "c" }), replicas: pods + 1 },
        { besides: (server) => withOrphan(server, "c", "a"), sizes: [{ a: 1, b: rest, c: 1 }] },
      ),
    ),
    adapting(
      "adaptive, with a subset that takes no pods",
      { ...before, spec: { ...spec, replicas: 1, ...spread(adaptive) }, sizes: [{ a: 1, b: 0 }] },
      after("more pods", { replicas: pods }, { full: ["a"], sizes: mishaps === 0 ? sizes : divisions(pods) }),
    ),
    adapting(
      "adaptive, with a pod that has to stay where none are taken",
      {
        ...before,
        spec: { ...spec, replicas: 1, ...spread(adaptive, 1) },
        full: ["a"],
        sizes: [{ a: 1, b: 0 }],
      },
      after("more pods", { replicas: pods }, { full: ["a"] }),
    ),
    adapting(
      "adaptive, with a subset that takes no pods for a while",
      { ...before, spec: { ...spec, replicas: 1, ...spread(adaptive) }, sizes: [{ a: 1, b: 0 }] },
      after("more pods", { replicas: pods }, { full: ["a"] }),
      // It depends on whether the subset was closed meanwhile.
      after("room again, and one pod more", { replicas: pods + 1 }, { sizes: divisions(pods + 1) }),
    ),
    scenario(
      "reserving, with a subset that takes no pods for a while",
      { ...before, spec: { ...reserved, replicas: 1 }, sizes: [{ a: 1, b: 0 }] },
      after("more pods", { replicas: pods }, { full: ["a"], sizes: [{ a: pods, b: rest }] }),
      after("room again", {}, { sizes: [{ a: pods, b: 0 }] }),
    ),
    scenario(
      "reserving, with a new image while a subset takes no pods",
      { ...before, spec: { ...reserved, replicas: 1 }, sizes: [{ a: 1, b: 0 }] },
      after(
        "more pods, and a new image",
        { replicas: pods, template: template("web:2", "cloneSetTemplate") },
        {
          full: ["a"],
          sizes: [
            { a: pods, b: rest },
            { a: pods, b: pods },
          ],
        },
      ),
    ),
  ];
}

function patchOf(image: string): Record<string, unknown> {
  return { spec: { containers: [{ name: "main", image }] } };
}

/** The first one gets all pods for which it has room, and at least `minReplicas`. */
function spread(scheduleStrategy: Topology["scheduleStrategy"], minReplicas = 0): Partial<Spec> {
  return { topology: { scheduleStrategy, subsets: [{ name: "a", minReplicas }, { name: "b" }] } };
}

/** Of pods over two subsets. */
function divisions(pods: number): UnitedStage["sizes"] {
  return Array.from({ length: pods + 1 }, (_, b) => ({ a: pods - b, b }));
}
