/** What plans of workloads are made of: lists of a namespace, and of nodes, each of which is read once. */
import type { ImagePullJob } from "../../crds/index.ts";
import {
  type ControllerRevision,
  controllerRevisionResource,
  isKubeError,
  listAll,
  type Node,
  nodeResource,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaimResource,
  podResource,
  type Resource,
} from "../../kube/index.ts";
import type { ClusterAccess } from "../command.ts";
import { pullJobsIn } from "./pull_jobs.ts";

export class WorkloadLists {
  readonly #access: ClusterAccess;
  readonly #read = {
    pods: new Map<string, Promise<Pod[]>>(),
    claims: new Map<string, Promise<PersistentVolumeClaim[]>>(),
    revisions: new Map<string, Promise<ControllerRevision[]>>(),
    pullJobs: new Map<string, Promise<ImagePullJob[] | undefined>>(),
  };
  #nodes: Promise<Node[]> | undefined;

  constructor(access: ClusterAccess) {
    this.#access = access;
  }

  pods(namespace: string): Promise<Pod[]> {
    return once(this.#read.pods, namespace, () => this.#list(podResource, namespace));
  }

  claims(namespace: string): Promise<PersistentVolumeClaim[]> {
    return once(this.#read.claims, namespace, () => this.#list(persistentVolumeClaimResource, namespace));
  }

  revisions(namespace: string): Promise<ControllerRevision[]> {
    return once(this.#read.revisions, namespace, () => this.#list(controllerRevisionResource, namespace));
  }

  /** Undefined when the kind is not served. */
  pullJobs(namespace: string): Promise<ImagePullJob[] | undefined> {
    return once(this.#read.pullJobs, namespace, () => pullJobsIn(this.#access, namespace));
  }

  nodes(): Promise<Node[]> {
    this.#nodes ??= listAll(this.#access.client, nodeResource);
    return this.#nodes;
  }

  /** What the server said to those that it refused, once all are answered. */
  async refusals(): Promise<string[]> {
    const read = [...Object.values(this.#read).flatMap((lists) => [...lists.values()]), this.#nodes];
    const answers = await Promise.allSettled<unknown>(read);
    return answers.flatMap((answer) =>
      answer.status === "rejected" && isKubeError(answer.reason, "Forbidden") ? [answer.reason.message] : [],
    );
  }

  #list<T>(resource: Resource<T>, namespace: string): Promise<T[]> {
    return listAll(this.#access.client, resource, { namespace });
  }
}

function once<T>(known: Map<string, Promise<T>>, key: string, read: () => Promise<T>): Promise<T> {
  let found = known.get(key);
  if (found === undefined) {
    found = read();
    known.set(key, found);
  }
  return found;
}
