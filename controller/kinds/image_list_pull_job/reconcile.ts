/** ImageListPullJobs: what the plan says of their jobs, an image each, as effects. No policy here. */
import type { ImageListPullJob, ImagePullJob, ImagePullJobSpec } from "../../../crds/index.ts";
import { objectRef } from "../../../kube/core/index.ts";
import type { EventEffect, KindEffect, WriteEffect } from "../../plan/effects.ts";
import { ownerKeyOf, ownersOf } from "../../plan/owners.ts";
import { imagePullJobResource } from "../../plan/resources.ts";
import { ownerReference, randomId } from "../../rollout/pods/pod_manifest.ts";
import { Children } from "../../runtime/children.ts";
import type { Writables } from "../../runtime/executor/executor.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler, Result } from "../../runtime/reconciler.ts";
import { HASH_LABEL, planImageListPullJob } from "./plan.ts";

/** A name has at most 253 characters; five and a dash follow. */
const LONGEST_PREFIX = 247;

export class ImageListPullJobReconciler implements Reconciler<ImageListPullJob> {
  readonly writes: Writables;
  readonly #deps: KindDeps<ImageListPullJob>;
  readonly #children: Children<ImagePullJob>;

  constructor(deps: KindDeps<ImageListPullJob>) {
    this.#deps = deps;
    this.#children = new Children(deps, deps.resource.kind, imagePullJobResource, ownersOf);
    this.writes = { jobs: this.#children.writable() };
  }

  reconcile(job: ImageListPullJob): Result {
    const children = [...this.#children.of(ownerKeyOf(job.metadata))];
    const plan = planImageListPullJob({ job, children }, this.#deps.clock.now());
    const { label, hash, remove, status, requeueAfterMs } = plan;
    if (remove) return { effects: [{ type: "delete object" }] };
    const labels = { [HASH_LABEL]: label };
    const relabel: KindEffect[] =
      label === undefined ? [] : [{ type: "patch object", body: { metadata: { labels } } }];
    return {
      status,
      size: status?.desired ?? 0,
      settled: status?.completionTime !== undefined,
      // What is made or deleted counts in the next pass, which its write queues.
      effects: [
        ...relabel,
        {
          type: "writes",
          pace: "at once",
          writes: plan.delete.map(deletionOf),
          counted: told("delete", "Delete"),
        },
        ...(plan.create.length === 0 ? [] : [{ type: "confirm object" } as const]),
        {
          type: "writes",
          pace: "slow start",
          writes: plan.create.map((spec) => this.#creationOf(job, spec, hash)),
          counted: told("create", "Create"),
        },
      ],
      requeueAfterMs,
    };
  }

  #creationOf(job: ImageListPullJob, spec: ImagePullJobSpec, hash: string): WriteEffect {
    const { random, resource } = this.#deps;
    const { name, namespace } = objectRef(job);
    const generateName = `${name.slice(0, LONGEST_PREFIX)}-`;
    const metadata = {
      generateName,
      labels: { [HASH_LABEL]: hash },
      ownerReferences: [ownerReference(resource.kind, name, job.metadata.uid ?? "")],
    };
    return {
      type: "create",
      resource: "jobs",
      namespace,
      name: generateName + randomId(random),
      body: { metadata, spec },
      existing: "own",
    };
  }
}

function deletionOf({ metadata }: ImagePullJob): WriteEffect {
  const { namespace, name = "", uid = "" } = metadata;
  return { type: "delete", resource: "jobs", namespace, name, uid, cascade: true };
}

function told(what: string, verb: string): EventEffect {
  const reason = `Successful ${what} ImagePullJob`;
  return { type: "event", event: { type: "Normal", reason, message: `${verb} {count} ImagePullJob` } };
}
