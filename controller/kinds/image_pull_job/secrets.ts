/** Carries out what `planSecretCopies` decides: watches the secrets of jobs that run, writes their copies. */
import type { ImagePullJob } from "../../../crds/index.ts";
import { createMergePatch, keyOf } from "../../../kube/core/index.ts";
import {
  type Change,
  type EventRecorder,
  isKubeError,
  type Log,
  type ReadingClient,
  type Writer,
} from "../../../kube/index.ts";
import { type PullSecret, pullSecretResource } from "../../native/pull_secrets.ts";
import { eventTarget } from "../../plan/event_target.ts";
import { imagePullJobResource } from "../../plan/resources.ts";
import type { SecretReference } from "../../rollout/images/node_image.ts";
import type { PodNeeds, PodSelection, SelectedPods } from "../../runtime/selected_pods.ts";
import {
  namesJob,
  planRelease,
  planSecretCopies,
  type SecretWrite,
  type WantedCopy,
  withJobsOf,
} from "./secret_copies.ts";

interface JobSecretsDeps {
  client: Pick<ReadingClient, "get">;
  /** Writes in that namespace. */
  writer: Writer;
  log: Log;
  recorder: EventRecorder;
  signal: AbortSignal;
  secrets: SelectedPods<PullSecret>;
  /** Namespace of the copies. */
  namespace: string;
  enqueue(key: string): void;
}

export class JobSecrets {
  readonly #deps: JobSecretsDeps;
  readonly #needs: PodNeeds<PullSecret>;
  /** UIDs of secrets that an event was about, by job: one event each, not one a pass. */
  readonly #reported = new Map<string, Set<string>>();

  constructor(deps: JobSecretsDeps) {
    this.#deps = deps;
    this.#needs = deps.secrets.needs((key, change) => {
      if (change === undefined || this.#concerns(key, change)) deps.enqueue(key);
    });
  }

  /**
   * Makes the copies that the job needs; what goes into NodeImages. Undefined until its secrets are known: the job is
   * enqueued then. Rejects when a copy cannot be written.
   */
  async provide(key: string, job: ImagePullJob): Promise<readonly SecretReference[] | undefined> {
    const names = [...new Set(job.spec.pullSecrets ?? [])].filter((name) => name !== "");
    if (names.length === 0) {
      this.forget(key);
      return [];
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
    for (const secret of plan.unsupported) this.#report(key, job, secret);
    for (const write of plan.writes) copies?.writeBack(await this.#write(write));
    return plan.references;
  }

  /** Gives back what the job used; true when nothing is left of it. */
  async giveBack(key: string, job: ImagePullJob): Promise<boolean> {
    if ((job.spec.pullSecrets ?? []).length === 0) return true;
    const held = this.#needs.need(key, [this.#copies()]);
    if (held === undefined) return false;
    const [copies] = held;
    const writes = planRelease({ job: key, copies: [...(copies?.values() ?? [])] });
    for (const write of writes) copies?.writeBack(await this.#write(write));
    this.forget(key);
    return true;
  }

  forget(key: string): void {
    this.#needs.release(key);
    this.#reported.delete(key);
  }

  #report(key: string, { metadata }: ImagePullJob, { name: secret, uid: secretUid, type }: PullSecret): void {
    const reported = this.#reported.get(key) ?? new Set();
    this.#reported.set(key, reported);
    if (reported.has(secretUid)) return;
    reported.add(secretUid);
    const message = `pull secret ${secret} is of type ${type || "Opaque"} and was not copied: use kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg`;
    this.#deps.recorder.event(
      eventTarget(imagePullJobResource, metadata),
      "Warning",
      "UnsupportedPullSecret",
      message,
    );
  }

  #copies(): PodSelection {
    return { namespace: this.#deps.namespace, labels: {} };
  }

  /** Copies of other jobs come and go without a meaning for this one; its own sources are watched one by one. */
  #concerns(key: string, { object }: Change<PullSecret>): boolean {
    const { namespace } = this.#deps;
    return object.namespace !== namespace || key.startsWith(`${namespace}/`) || namesJob(object, key);
  }

  async #write(write: SecretWrite): Promise<PullSecret> {
    const { writer, signal } = this.#deps;
    const options = { signal, flow: "pull secrets" };
    switch (write.type) {
      case "create":
        return this.#create(write.copy);
      case "update": {
        const { namespace, name, resourceVersion } = write.before;
        const body = patchOf(write.before, write.copy);
        return writer.patch(
          pullSecretResource,
          { namespace, name },
          { type: "merge", body: { ...body, metadata: { ...body.metadata, resourceVersion } } },
          options,
        );
      }
      case "delete": {
        const { namespace, name, uid, resourceVersion } = write.copy;
        try {
          // Whoever has been listed meanwhile keeps it.
          await writer.delete(pullSecretResource, { namespace, name }, { ...options, uid, resourceVersion });
        } catch (error) {
          if (!isKubeError(error, "NotFound")) throw error;
        }
        return { ...write.copy, deleting: true };
      }
    }
  }

  /** A copy of this source may exist already: of another job, or because an answer was lost. */
  async #create(copy: WantedCopy): Promise<PullSecret> {
    const { client, writer, namespace, signal } = this.#deps;
    const { name, type, labels, annotations, data } = copy;
    const metadata = { name, namespace, labels, annotations };
    const body = { apiVersion: "v1", kind: "Secret", metadata, type, data };
    const options = { signal, flow: "pull secrets" };
    try {
      return await writer.create(pullSecretResource, namespace, body, options);
    } catch (error) {
      if (!isKubeError(error, "AlreadyExists")) throw error;
      const before = await client.get(pullSecretResource, { namespace, name }, { signal });
      const merged = withJobsOf(before, copy);
      // Something else has the name: once that is seen, the copy gets another one.
      if (merged === undefined) throw error;
      return this.#write({ type: "update", before, copy: merged });
    }
  }
}

function patchOf(before: PullSecret, copy: WantedCopy): { metadata: object; data: object } {
  return {
    metadata: {
      labels: createMergePatch(before.labels, copy.labels),
      annotations: createMergePatch(before.annotations, copy.annotations),
    },
    data: createMergePatch(before.data, copy.data),
  };
}
