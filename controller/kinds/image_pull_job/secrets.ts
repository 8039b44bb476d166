/** The secrets of jobs that run and their copies: watches them, and makes effects of what `planSecretCopies` decides. */
import type { ImagePullJob } from "../../../crds/index.ts";
import { createMergePatch, keyOf } from "../../../kube/core/index.ts";
import type { Change, Log } from "../../../kube/index.ts";
import { type PullSecret, pullSecretResource } from "../../native/pull_secrets.ts";
import type { EventEffect, WriteEffect } from "../../plan/effects.ts";
import type { SecretReference } from "../../rollout/images/node_image.ts";
import { type Writable, writable } from "../../runtime/executor/writable.ts";
import type { ObjectSelection, SelectionNeeds, Selections } from "../../runtime/selected_objects.ts";
import {
  namesJob,
  planRelease,
  planSecretCopies,
  type SecretWrite,
  type WantedCopy,
} from "./secret_copies.ts";

/** The copies, among the `writes` of the reconciler. */
export const COPIES = "secret copies";

interface JobSecretsDeps {
  log: Log;
  secrets: Selections<PullSecret>;
  /** Namespace of the copies. */
  namespace: string;
  enqueue(key: string): void;
}

/** What a job that runs needs. */
interface ProvidedSecrets {
  /** What goes into NodeImages once the copies are written. */
  readonly references: readonly SecretReference[];
  readonly events: readonly EventEffect[];
  readonly writes: readonly WriteEffect[];
}

export class JobSecrets {
  readonly writable: Writable;
  readonly #deps: JobSecretsDeps;
  readonly #needs: SelectionNeeds<PullSecret>;
  /** UIDs of secrets that an event was about, by job: one event each, not one a pass. */
  readonly #reported = new Map<string, Set<string>>();

  constructor(deps: JobSecretsDeps) {
    this.#deps = deps;
    this.#needs = deps.secrets.needs((key, change) => {
      if (change === undefined || this.#concerns(key, change)) deps.enqueue(key);
    });
    this.writable = writable(pullSecretResource, {
      scope: { namespace: deps.namespace },
      flow: "pull secrets",
      writeBack: (copy, key) => this.#needs.held(key)?.[0]?.writeBack(copy),
    });
  }

  /** Undefined until its secrets are known: the job is enqueued then. Each copy that is written enqueues it, too. */
  provide(key: string, job: ImagePullJob): ProvidedSecrets | undefined {
    const names = [...new Set(job.spec.pullSecrets ?? [])].filter((name) => name !== "");
    if (names.length === 0) {
      this.forget(key);
      return { references: [], events: [], writes: [] };
    }
    const jobNamespace = job.metadata.namespace ?? "";
    const held = this.#needs.need(key, [
      this.#copies(),
      ...names.map((name) => ({ namespace: jobNamespace, labels: {}, fields: `metadata.name=${name}` })),
    ]);
    if (held === undefined) return undefined;
    const [copies, ...sources] = held;
    const found = names.map((name, index) => sources[index]?.get(keyOf({ namespace: jobNamespace, name })));
    const missing = names.filter((_, index) => found[index] === undefined);
    if (missing.length > 0) this.#deps.log.info("pull secrets do not exist (yet)", { object: key, missing });
    const plan = planSecretCopies({
      job: key,
      jobNamespace,
      namespace: this.#deps.namespace,
      sources: found,
      copies: [...(copies?.values() ?? [])],
    });
    return {
      references: plan.references,
      events: plan.unsupported.flatMap((secret) => this.#reportOnce(key, secret)),
      writes: plan.writes.map((write) => effectOf(this.#deps.namespace, write)),
    };
  }

  /** Gives back what the job used. Undefined until the copies are known: the job is enqueued then. */
  giveBack(key: string, job: ImagePullJob): readonly WriteEffect[] | undefined {
    if ((job.spec.pullSecrets ?? []).length === 0) return [];
    const [copies] = this.#needs.need(key, [this.#copies()]) ?? [];
    if (copies === undefined) return undefined;
    const writes = planRelease({ job: key, copies: [...copies.values()] });
    return writes.map((write) => effectOf(this.#deps.namespace, write));
  }

  forget(key: string): void {
    this.#needs.release(key);
    this.#reported.delete(key);
  }

  #reportOnce(key: string, { name, uid, type }: PullSecret): EventEffect[] {
    const reported = this.#reported.get(key) ?? new Set();
    this.#reported.set(key, reported);
    if (reported.has(uid)) return [];
    reported.add(uid);
    const message = `pull secret ${name} is of type ${type || "Opaque"} and was not copied: use kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg`;
    return [{ type: "event", event: { type: "Warning", reason: "UnsupportedPullSecret", message } }];
  }

  #copies(): ObjectSelection {
    return { namespace: this.#deps.namespace, labels: {} };
  }

  /** Copies of other jobs come and go without a meaning for this one; its own sources are watched one by one. */
  #concerns(key: string, { object }: Change<PullSecret>): boolean {
    const { namespace } = this.#deps;
    return object.namespace !== namespace || key.startsWith(`${namespace}/`) || namesJob(object, key);
  }
}

/** Of the very version that was seen: whoever has been listed meanwhile keeps it. */
function effectOf(namespace: string, write: SecretWrite): WriteEffect {
  const target = { resource: COPIES, namespace, name: write.copy.name, whenRaced: "retry" } as const;
  switch (write.type) {
    case "create": {
      const { labels, annotations, type, data } = write.copy;
      return { ...target, type: "create", body: { metadata: { labels, annotations }, type, data } };
    }
    case "update": {
      const body = patchOf(write.before, write.copy);
      return { ...target, type: "patch", patch: { type: "merge", body } };
    }
    case "delete": {
      const { uid, resourceVersion } = write.copy;
      return { ...target, type: "delete", uid, resourceVersion };
    }
  }
}

function patchOf(before: PullSecret, copy: WantedCopy): { metadata: object; data: object } {
  return {
    metadata: {
      labels: createMergePatch(before.labels, copy.labels),
      annotations: createMergePatch(before.annotations, copy.annotations),
      resourceVersion: before.resourceVersion,
    },
    data: createMergePatch(before.data, copy.data),
  };
}
