/** BroadcastJobs and AdvancedCronJobs for the suites: manifests, and what a suite asks of one. */
import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import type { ApiVersion } from "./step_result.ts";
import type { WaitOptions, World } from "./world.ts";

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

/** The jobs of a world: their reads and writes in the world's version. */
export class Jobs {
  readonly world: World;
  readonly resource: string;
  readonly crons: string;

  constructor(world: World) {
    this.world = world;
    this.resource = `broadcastjobs.${world.version}.apps.kruise.io`;
    this.crons = `advancedcronjobs.${world.version}.apps.kruise.io`;
  }

  get(name: string): Promise<Item> {
    return this.world.api.get(this.resource, name, this.world.namespace);
  }

  cron(name: string): Promise<Item> {
    return this.world.api.get(this.crons, name, this.world.namespace);
  }

  /** Sets when the cron job last made a child; milliseconds since the epoch. What was due since then is missed. */
  async lastScheduled(name: string, at: number): Promise<void> {
    const lastScheduleTime = new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
    const status = { lastScheduleTime };
    await this.world.api.patch(this.crons, name, this.world.namespace, "merge", { status }, "status");
  }

  /** Nodes that ordinary pods may run on. */
  async workers(): Promise<string[]> {
    const nodes = await this.world.api.list("nodes");
    return nodes
      .filter(({ spec }) => {
        const taints = Array.isArray(spec?.["taints"]) ? spec["taints"] : [];
        return spec?.["unschedulable"] !== true && taints.length === 0;
      })
      .map((node) => node.metadata.name)
      .sort();
  }

  row(name: string): Promise<string> {
    return this.world.row(name, { resource: this.resource });
  }

  /** `name DESIRED ACTIVE SUCCEEDED FAILED`. */
  untilRow(expected: string, options: WaitOptions = {}): Promise<void> {
    const [name = ""] = expected.split(" ");
    const probe = async () => assert.equal(await this.row(name), expected);
    return this.world.until(expected, probe, { timeoutMs: 120_000, ...options });
  }

  untilPhase(name: string, phase: string, options: WaitOptions = {}): Promise<void> {
    const probe = async () => assert.equal((await this.get(name)).status?.phase, phase);
    return this.world.until(`${name} ${phase}`, probe, options);
  }

  untilGone(name: string, options: WaitOptions = {}): Promise<void> {
    const probe = async () => {
      assert.equal(await this.world.api.find(this.resource, name, this.world.namespace), undefined);
      assert.deepEqual(await this.pods(name), []);
    };
    return this.world.until(`${name} is gone`, probe, { stableMs: 0, ...options });
  }

  pods(name: string): Promise<Item[]> {
    return this.world.list("pods", `broadcastjob-name=${name}`);
  }

  /** Objects of a resource that the cron job controls, oldest first. */
  async children(name: string, resource = this.resource): Promise<Item[]> {
    const items = await this.world.list(resource);
    return items
      .filter((item) =>
        item.metadata.ownerReferences?.some(
          (owner) => owner.controller && owner.kind === "AdvancedCronJob" && owner.name === name,
        ),
      )
      .sort((a, b) => timeOfName(a.metadata.name) - timeOfName(b.metadata.name));
  }

  events(name: string, reason?: string) {
    return this.world.events("BroadcastJob", name, reason);
  }

  patch(name: string, body: unknown, resource = this.resource): Promise<Item> {
    return this.world.patch(name, "merge", body, resource);
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
