import assert from "node:assert/strict";
import { nameOf, records } from "./items.ts";
import type { Suite } from "./suite.ts";
import { type TemplateName, United, unitedDeployment } from "./united_deployments.ts";
import type { World } from "./world.ts";

const RESERVED = "apps.kruise.io/united-deployment-reserved-pod";
const first = "nginx:1.20";

/** Node labels of this world's own: nodes are given to subsets, and taken away, while they run other things as well. */
class Zones {
  readonly #world: World;
  readonly #id: string;
  #node = "";

  constructor(world: World) {
    this.#world = world;
    this.#id = `case-${world.namespace}`;
  }

  /** Subsets whose nodes have the labels of their names. */
  subset(name: string, more: object = {}): object {
    const matchExpressions = [{ key: `${this.#id}-${name}`, operator: "Exists" }];
    return { name, nodeSelectorTerm: { matchExpressions }, ...more };
  }

  /** From now on a node takes the pods of the subset; `false`: none does. */
  async open(name: string, isOpen = true): Promise<void> {
    const { api } = this.#world;
    if (this.#node === "") this.#node = (await api.list("nodes")).map(nameOf).sort()[0] ?? "";
    const labels = { [`${this.#id}-${name}`]: isOpen ? "" : null };
    await api.patch("nodes", this.#node, undefined, "merge", { metadata: { labels } });
  }
}

class Adaptive extends United {
  readonly template: TemplateName;

  constructor(world: World, name: string, template: TemplateName) {
    super(world, name);
    this.template = template;
  }

  async createAdaptive(replicas: number, subsets: readonly object[], adaptive: object): Promise<void> {
    const { template } = this;
    const scheduleStrategy = { type: "Adaptive", adaptive };
    await this.create({ replicas, subsets, template, scheduleStrategy, image: first });
  }

  async untilPods(...counts: readonly number[]): Promise<void> {
    const sizes = Object.fromEntries(counts.map((count, index) => [`s${index}`, count]));
    await this.untilSizes(sizes, this.template);
    await this.world.until(`pods of ${this.name}`, async () => {
      for (const [subset, count] of Object.entries(sizes))
        assert.equal((await this.pods(subset)).length, count, subset);
    });
  }

  /** Pods that count for nothing, by subset. */
  async untilReserved(...counts: readonly number[]): Promise<void> {
    await this.world.until(`reserved pods ${counts} of ${this.name}`, async () => {
      const found = counts.map(async (_, index) => {
        const labels = (await this.pods(`s${index}`)).map(({ metadata }) => metadata.labels?.[RESERVED]);
        assert.ok(
          labels.every((label) => label === "true" || label === "false"),
          `${labels}`,
        );
        return labels.filter((label) => label === "true").length;
      });
      assert.deepEqual(await Promise.all(found), counts);
    });
  }

  async subsetCondition(subset: string): Promise<Record<string, unknown> | undefined> {
    const { conditions = [] } = await this.subset(subset);
    return records(conditions).find(({ type }) => type === "Schedulable");
  }
}

async function closing(world: World, zones: Zones): Promise<void> {
  const united = new Adaptive(world, "adaptive", "cloneSetTemplate");
  await world.step("1 a subset that takes no pods is closed, and its pods go to the next", async () => {
    const subsets = [
      zones.subset("s0", { maxReplicas: 2 }),
      zones.subset("s1", { maxReplicas: 2 }),
      zones.subset("s2"),
    ];
    await zones.open("s0");
    await zones.open("s2");
    // Closed for longer than the steps take.
    await united.createAdaptive(3, subsets, {
      rescheduleCriticalSeconds: world.seconds(10, 2),
      unschedulableDuration: 900,
    });
    await united.untilPods(2, 0, 1);
    const { status, reason, message } = (await united.subsetCondition("s1")) ?? {};
    assert.deepEqual([status, reason, message], ["False", "reschedule", "timeout pending pods found"]);
    assert.equal(await united.subsetCondition("s0"), undefined, "never in trouble");
  });
  await world.step("2 while it is closed it gets nothing", async () => {
    await united.scale(5);
    await united.untilPods(2, 0, 3);
    await united.scale(4);
    await united.untilPods(2, 0, 2);
    await united.untilRow("4 4 4 4");
  });
  await world.step("3 after its time it is open again, for pods that come then", async () => {
    await zones.open("s1");
    const topology = { scheduleStrategy: { adaptive: { unschedulableDuration: 1 } } };
    await united.patch("merge", { spec: { topology } });
    await world.until("open", async () => {
      const { status, reason, message } = (await united.subsetCondition("s1")) ?? {};
      assert.deepEqual(
        [status, reason, message],
        ["True", "recover", "unschedulable subset recovered after 1.000000 seconds"],
      );
    });
    await united.untilPods(2, 0, 2);
    await united.scale(5);
    await united.untilPods(2, 1, 2);
    await united.untilRow("5 5 5 5");
  });
}

async function reserving(world: World, zones: Zones, template: TemplateName): Promise<void> {
  const united = new Adaptive(world, template.toLowerCase(), template);
  const row = async (numbers: string) => united.untilRow(numbers);
  await world.step(`4 ${template}: pods without a node stay, and others stand in for them`, async () => {
    for (const name of ["s0", "s1"]) await zones.open(name, false);
    await zones.open("s2");
    const subsets = ["s0", "s1", "s2"].map((name) => zones.subset(name));
    const adaptive = {
      rescheduleCriticalSeconds: world.seconds(10, 2),
      unschedulableDuration: world.seconds(10, 2),
      reserveUnschedulablePods: true,
    };
    await united.createAdaptive(2, subsets, adaptive);
    await united.untilPods(2, 2, 2);
    await united.untilReserved(2, 2, 0);
    // It follows its workloads' statuses, which follow the pods.
    await world.until("the status", async () => {
      const { status } = await united.get();
      assert.deepEqual([status?.replicas, status?.["reservedPods"]], [2, 4]);
      assert.ok(String(status?.["labelSelector"]).endsWith(`,${RESERVED}=false`));
    });
  });
  await world.step(
    `5 ${template}: more of them, and an image that reaches also those that are pending`,
    async () => {
      await united.scale(4);
      await united.untilPods(2, 2, 4);
      await united.toImage("nginx:1.21", template);
      await world.until("the image everywhere", async () => {
        assert.deepEqual(Object.values(await united.tags()), Array(8).fill("1.21"));
      });
      await united.untilReserved(2, 2, 0);
    },
  );
  await world.step(`6 ${template}: the first subset has room, nobody stands in any more`, async () => {
    await zones.open("s0");
    await united.untilPods(4, 0, 0);
    await united.untilReserved(0, 0, 0);
    await row("4 4 4 4");
  });
}

/** Spec uniteddeployment, scenarios 12, 14 and 17. */
export const suite: Suite = {
  number: "u12",
  title: "UnitedDeployment: pods that find no node",
  needs: [],
  async run(world) {
    const zones = new Zones(world);
    try {
      await closing(world, zones);
      for (const template of ["cloneSetTemplate", "deploymentTemplate"] as const)
        await reserving(world, zones, template);
      await world.step("7 sets have an order: they cannot reserve", async () => {
        const scheduleStrategy = { type: "Adaptive", adaptive: { reserveUnschedulablePods: true } };
        const shape = { name: "sets", replicas: 1, subsets: [{ name: "s0" }], scheduleStrategy };
        await world.refuses(
          422,
          () => world.apply(unitedDeployment(world.version, shape)),
          /only stateless workloads \(Deployment and CloneSet\) are supported/,
        );
      });
    } finally {
      for (const name of ["s0", "s1", "s2"]) await zones.open(name, false);
    }
  },
};
