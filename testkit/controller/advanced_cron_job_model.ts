/** The model cluster with one AdvancedCronJob: a clock, children that end and go, a controller that may crash. */

import { scheduledSinceAnnotation } from "../../controller/kinds/advanced_cron_job/memory.ts";
import type { Child } from "../../controller/kinds/advanced_cron_job/observe.ts";
import { type CronJobPlan, planAdvancedCronJob } from "../../controller/kinds/advanced_cron_job/plan.ts";
import { timestamp } from "../../controller/rollout/lifecycle/lifecycle.ts";
import type { AdvancedCronJob, AdvancedCronJobSpec } from "../../crds/index.ts";

export class CronModel {
  now: number;
  job: AdvancedCronJob;
  readonly children = new Map<string, Child>();
  /** Every child that was ever made, with the time of its making. */
  readonly made: { name: string; scheduledAt: number; at: number }[] = [];
  /** Children that are deleted stay until they are collected. */
  lingers = false;
  #uid = 1;

  constructor(spec: Partial<AdvancedCronJobSpec>, now = Date.parse("2026-01-01T00:00:30Z")) {
    this.now = now;
    this.job = {
      apiVersion: "apps.kruise.io/v1beta1",
      kind: "AdvancedCronJob",
      metadata: { name: "tick", namespace: "default", uid: "cron-1", creationTimestamp: timestamp(now) },
      spec: { schedule: "*/1 * * * *", template: { broadcastJobTemplate: {} }, ...spec },
    };
  }

  plan(): CronJobPlan {
    const { job, now } = this;
    return planAdvancedCronJob({ job, children: [...this.children.values()], localZone: "UTC", now });
  }

  /** One pass, carried out; a crash leaves out what comes after so many writes. `refuses`: creations are refused. */
  pass({ writes = Number.POSITIVE_INFINITY, refuses = false } = {}): CronJobPlan {
    const plan = this.plan();
    let left = writes;
    for (const child of plan.deletions) if (left-- > 0) this.delete(child);
    const { creation, scheduledSince } = plan;
    if (scheduledSince !== undefined && left-- > 0) this.#annotate(scheduledSinceAnnotation, scheduledSince);
    if (creation !== undefined) {
      if (left-- > 0 && !refuses) this.#create(creation);
    } else if (left-- > 0) {
      this.job = { ...this.job, status: plan.status };
    }
    return plan;
  }

  /** Passes until nothing changes at this time. */
  settle(): CronJobPlan {
    for (let round = 0; round < 50; round++) {
      const before = JSON.stringify([this.job, [...this.children.values()]]);
      const plan = this.pass();
      if (JSON.stringify([this.job, [...this.children.values()]]) === before) return plan;
    }
    throw new Error("the cron job does not settle");
  }

  /** Lets the clock run, with a pass whenever the plan wants to be woken. */
  run(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      const { requeueAfterMs } = this.settle();
      if (requeueAfterMs === undefined || this.now + requeueAfterMs > end) break;
      this.now += Math.max(1, requeueAfterMs);
    }
    this.now = end;
    this.settle();
  }

  delete(child: Child): void {
    if (this.lingers) this.children.set(child.name, { ...child, isGoing: true });
    else this.children.delete(child.name);
  }

  collect(): void {
    for (const child of [...this.children.values()]) if (child.isGoing) this.children.delete(child.name);
  }

  #annotate(annotation: string, text: string): void {
    const { metadata } = this.job;
    const annotations = { ...metadata.annotations, [annotation]: text };
    this.job = { ...this.job, metadata: { ...metadata, annotations } };
  }

  #create({ kind, name, body }: NonNullable<CronJobPlan["creation"]>): void {
    if (this.children.has(name)) throw new Error(`${name} exists`);
    const { annotations } = (body as { metadata: { annotations: Record<string, string> } }).metadata;
    const scheduledAt = Date.parse(annotations["apps.kruise.io/scheduled-at"] ?? "");
    this.made.push({ name, scheduledAt, at: this.now });
    this.children.set(name, {
      kind,
      name,
      uid: `child-${this.#uid++}`,
      resourceVersion: "1",
      createdAt: this.now,
      startedAt: this.now,
      scheduledAt,
      state: "active",
      isGoing: false,
    });
  }

  end(name: string, state: "succeeded" | "failed"): void {
    const child = this.children.get(name);
    if (child?.state === "active") this.children.set(name, { ...child, state });
  }

  names(): string[] {
    return this.made.map((each) => each.name);
  }

  active(): Child[] {
    return [...this.children.values()].filter((child) => child.state === "active");
  }

  change(spec: Partial<AdvancedCronJobSpec>): void {
    this.job = { ...this.job, spec: { ...this.job.spec, ...spec } };
  }
}
