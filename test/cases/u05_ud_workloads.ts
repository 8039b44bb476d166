import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import type { Suite } from "./suite.ts";
import {
  type TemplateName,
  United,
  unitedDeployment,
  unitedTemplate,
  workloads,
} from "./united_deployments.ts";
import type { World } from "./world.ts";

/** Names of the objects, by what their subsets are. */
const templates = {
  native: "statefulSetTemplate",
  advanced: "advancedStatefulSetTemplate",
  clones: "cloneSetTemplate",
  deployed: "deploymentTemplate",
} as const satisfies Record<string, TemplateName>;
type Name = keyof typeof templates;
const names = ["native", "advanced", "clones", "deployed"] as const satisfies readonly Name[];

const subsets = [{ name: "subset-a", replicas: 1 }, { name: "subset-b" }];

/** What is done with all four objects at once. */
class Four {
  readonly #world: World;
  readonly #objects: ReadonlyMap<Name, United>;

  constructor(world: World) {
    this.#world = world;
    this.#objects = new Map(names.map((name) => [name, new United(world, name)]));
  }

  async each(work: (united: United, template: TemplateName, name: Name) => Promise<void>): Promise<void> {
    await Promise.all([...this.#objects].map(([name, united]) => work(united, templates[name], name)));
  }

  apply(name: Name, replicas: number, image: string): Promise<Item> {
    const shape = { name, replicas, subsets, template: templates[name], image };
    return this.#world.apply(unitedDeployment(this.#world.version, shape));
  }

  /** All pods of an object run the image, in subsets of these sizes. */
  async until(united: United, template: TemplateName, sizes: readonly [number, number], image: string) {
    const all = sizes[0] + sizes[1];
    await united.untilRow(`${all} ${all} ${all} ${all}`);
    await this.#world.until(`${united.name} at ${image}`, async () => {
      assert.deepEqual(await united.sizes(template), { "subset-a": sizes[0], "subset-b": sizes[1] });
      assert.deepEqual(Object.values(await united.tags()), Array(all).fill(image));
    });
  }
}

/** Pods and workloads as they were made; a restart would show. */
async function identities(united: United, template: TemplateName): Promise<unknown> {
  const pods = await united.pods();
  const children = await united.world.list(workloads[template], `case=${united.name}`);
  return [...pods, ...children]
    .map(({ metadata, status }) => [
      metadata.name,
      metadata.uid,
      (status?.containerStatuses ?? []).map(({ restartCount }) => restartCount),
    ])
    .sort();
}

async function adopted(world: World, four: Four): Promise<void> {
  await world.step("3 what an object of the same name left is taken over without a restart", () =>
    four.each(async (united, template, name) => {
      const [before, { status }] = [await identities(united, template), await united.get()];
      await world.remove(united.resource, name, { propagationPolicy: "Orphan" });
      await world.until(`${name} is gone, its workloads have no owner`, async () => {
        assert.equal(await world.find(united.resource, name), undefined);
        assert.deepEqual(await united.children(template), {});
      });
      await four.apply(name, 4, "nginx:1.21");
      await four.until(united, template, [1, 3], "1.21");
      assert.deepEqual(await identities(united, template), before);
      const { metadata, status: after } = await united.get();
      assert.equal(after?.currentRevision, status?.currentRevision);
      for (const { metadata: child } of Object.values(await united.children(template)))
        assert.deepEqual(
          child.ownerReferences?.map(({ uid }) => uid),
          [metadata.uid],
        );
    }),
  );
}

async function deleted(world: World, four: Four): Promise<void> {
  await world.step("5 deletion in the foreground ends with the object, in the background with its pods", () =>
    four.each(async (united, template, name) => {
      const isForeground = name === "advanced" || name === "deployed";
      const propagationPolicy = isForeground ? "Foreground" : "Background";
      const nothing = async () => {
        assert.deepEqual(await world.list(workloads[template], `case=${name}`), []);
        assert.deepEqual(await united.pods(), []);
      };
      await world.remove(united.resource, name, { propagationPolicy });
      await world.until(`${name} is gone`, async () =>
        assert.equal(await world.find(united.resource, name), undefined),
      );
      if (isForeground) await nothing();
      await world.until(`${name} leaves nothing`, async () => {
        await nothing();
        assert.deepEqual(await united.revisions(), []);
      });
    }),
  );
}

/** Spec uniteddeployment, rules 11, 21 to 30; scenarios 5 and 9. */
export const suite: Suite = {
  number: "u05",
  title: "UnitedDeployment: every kind of workload, taken over and deleted",
  needs: [],
  async run(world) {
    const four = new Four(world);
    await world.step("1 workloads of every kind", () =>
      four.each(async (united, template, name) => {
        await four.apply(name, 3, "nginx:1.20");
        await four.until(united, template, [1, 2], "1.20");
      }),
    );
    await world.step("2 another image, and one pod more", () =>
      four.each(async (united, template) => {
        const path = `/spec/template/${template}/spec/template/spec/containers/0/image`;
        await united.patch("json", [
          { op: "replace", path, value: "nginx:1.21" },
          { op: "replace", path: "/spec/replicas", value: 4 },
        ]);
        await four.until(united, template, [1, 3], "1.21");
        assert.equal((await united.revisions()).length, 2);
      }),
    );
    await adopted(world, four);
    await world.step("4 another kind of workload replaces all", async () => {
      const united = new United(world, "native");
      const template = {
        statefulSetTemplate: null,
        ...unitedTemplate("native", "cloneSetTemplate", "nginx:1.22"),
      };
      await united.patch("merge", { spec: { template } });
      await four.until(united, "cloneSetTemplate", [1, 3], "1.22");
      assert.deepEqual(await united.children("statefulSetTemplate"), {});
    });
    await deleted(world, four);
  },
};
