/** BroadcastJobs and AdvancedCronJobs for the suites: manifests, and what a suite asks of one. */
import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { Handle, resourceOf } from "./handle.ts";
import { nameOf } from "./items.ts";
import type { ApiVersion } from "./step_result.ts";
import { Workload } from "./workload.ts";
import type { World } from "./world.ts";

export interface TaskShape {
  command?: string[];
  restartPolicy?: "Never" | "OnFailure" | "Always" | null;
  podSpec?: object;
}

/** A pod template that does one thing and ends. */
export function task({ command = ["true"], restartPolicy = "Never", podSpec = {} }: TaskShape = {}): object {
  return {
    spec: {
      ...(restartPolicy === null ? {} : { restartPolicy }),
      terminationGracePeriodSeconds: 1,
      containers: [{ name: "work", image: "busybox:1.34", imagePullPolicy: "IfNotPresent", command }],
      ...podSpec,
    },
  };
}

export function broadcastJob(version: ApiVersion, name: string, spec: object, shape: TaskShape = {}): object {
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "BroadcastJob",
    metadata: { name },
    spec: { ...spec, template: task(shape) },
  };
}

export function cronJob(version: ApiVersion, name: string, spec: object): object {
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "AdvancedCronJob",
    metadata: { name },
    spec,
  };
}

export class BroadcastJob extends Workload {
  protected override readonly rowLimitMs = 120_000;

  constructor(world: World, name: string) {
    super(world, "BroadcastJob", name);
  }

  create(spec: object, shape: TaskShape = {}): Promise<Item> {
    return this.world.apply(broadcastJob(this.world.version, this.name, spec, shape));
  }

  /** What has ended has no latest generation to tell of; its pods may come and go. */
  override async assertRow(row: string): Promise<void> {
    assert.equal(await this.row(), row);
  }

  untilPhase(phase: string): Promise<void> {
    return this.world.until(`${this.name} ${phase}`, async () =>
      assert.equal((await this.status()).phase, phase),
    );
  }

  override pods(): Promise<Item[]> {
    return this.world.list("pods", `broadcastjob-name=${this.name}`);
  }
}

export class CronJob extends Handle {
  constructor(world: World, name: string) {
    super(world, "AdvancedCronJob", name);
  }

  create(spec: object, version = this.world.version): Promise<Item> {
    return this.world.apply(cronJob(version, this.name, spec));
  }

  /** Sets when it last made a child; milliseconds since the epoch. What was due since then is missed. */
  async lastScheduled(at: number): Promise<void> {
    const lastScheduleTime = new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
    await this.world.patch(this.resource, this.name, "merge", { status: { lastScheduleTime } }, "status");
  }

  /** What it controls of a resource, oldest first. */
  async children(resource = resourceOf("BroadcastJob", this.world.version)): Promise<Item[]> {
    const children = await this.world.controlled(this.kind, this.name, resource);
    return children.sort((a, b) => timeOfName(nameOf(a)) - timeOfName(nameOf(b)));
  }
}

/** Unix seconds in the name of a cron job's child. */
export function timeOfName(name: string): number {
  return Number(name.slice(name.lastIndexOf("-") + 1));
}

export function isOver(job: Item): boolean {
  return (job.status?.conditions ?? []).some(
    ({ type, status }) => (type === "Complete" || type === "Failed") && status === "True",
  );
}
