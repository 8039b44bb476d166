/** The pods whose logs are followed: which containers they have, which of them are read, and what is printed. */
import type { Call, ClusterAccess } from "../command.ts";
import { CliError } from "../errors.ts";
import type { AnyObject } from "../fields.ts";
import { ContainerLog, type LogQuery } from "./container_log.ts";
import { type ContainerChoice, followedContainers, newestRun } from "./containers.ts";
import type { LogLine } from "./lines.ts";
import { logPath } from "./log_path.ts";
import { Streams } from "./streams.ts";

export interface FollowOptions {
  readonly containers: ContainerChoice;
  /** Where logs begin of pods that are there at the start. */
  readonly beginning: LogQuery;
  /** Open at a time. */
  readonly mostStreams: number;
  readonly hasPrefix: boolean;
  readonly hasTimes: boolean;
}

interface Followed {
  readonly log: ContainerLog;
  podUid: string;
  isRead: boolean;
}

export class FollowedPods {
  readonly #call: Call;
  readonly #access: ClusterAccess;
  readonly #options: FollowOptions;
  readonly #streams: Streams;
  readonly #stop = new AbortController();
  /** By names of pod and container: a pod of a StatefulSet comes again under its name. */
  readonly #followed = new Map<string, Followed>();
  #isFirst = true;
  #isLast = false;
  #failure: unknown;
  /** Aborted by Ctrl-C, and when all is read or nothing can be. */
  readonly signal: AbortSignal;

  constructor(call: Call, access: ClusterAccess, options: FollowOptions) {
    this.#call = call;
    this.#access = access;
    this.#options = options;
    this.#streams = new Streams(options.mostStreams, () =>
      call.warn(
        `${options.mostStreams} logs are followed, as many as --max-log-requests allows: the next pods wait until one ends`,
      ),
    );
    this.signal = AbortSignal.any([call.io.signal, this.#stop.signal]);
  }

  /** As they are now; those that are not among them are as they were. Throws CliError when there are too many from the start. */
  update(pods: readonly AnyObject[]): void {
    if (this.#isFirst) this.#checkCount(pods);
    for (const pod of pods)
      for (const container of followedContainers(pod, this.#options.containers)) this.#see(pod, container);
    this.#isFirst = false;
  }

  /** No pods come after these. */
  updateLast(pods: readonly AnyObject[]): void {
    this.update(pods);
    this.#isLast = true;
    this.#endWhenRead();
  }

  fail(error: unknown): void {
    this.#failure ??= error;
    this.#stop.abort();
  }

  /** Throws what ended it, where that was an error. */
  ended(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  #checkCount(pods: readonly AnyObject[]): void {
    const { mostStreams, containers } = this.#options;
    const count = pods.flatMap((pod) => followedContainers(pod, containers)).length;
    if (count <= mostStreams) return;
    throw new CliError(
      `you are attempting to follow ${count} log streams, but maximum allowed concurrency is ${mostStreams}, use --max-log-requests to increase the limit`,
    );
  }

  #see(pod: AnyObject, container: string): void {
    const uid = pod.metadata.uid ?? "";
    const followed = this.#followedOf(pod, container);
    followed.log.update(newestRun(pod, container), followed.podUid === uid);
    followed.podUid = uid;
    if (!followed.isRead && followed.log.isUnread) this.#read(followed);
  }

  #followedOf(pod: AnyObject, container: string): Followed {
    const name = pod.metadata.name ?? "";
    const key = `${name}/${container}`;
    const known = this.#followed.get(key);
    if (known !== undefined) return known;
    const made = { log: this.#logOf(pod, container), podUid: pod.metadata.uid ?? "", isRead: false };
    this.#followed.set(key, made);
    return made;
  }

  #logOf(pod: AnyObject, container: string): ContainerLog {
    const { client } = this.#access;
    const prefix = this.#options.hasPrefix ? `[pod/${pod.metadata.name ?? ""}/${container}] ` : "";
    const parts = {
      clock: this.#call.host.clock,
      signal: this.signal,
      open: (query: LogQuery) => client.stream(logPath(pod, container, query), this.signal),
      print: ({ time, text }: LogLine) =>
        void this.#call.io.stdout.write(
          `${prefix}${this.#options.hasTimes && time !== "" ? `${time} ` : ""}${text}\n`,
        ),
    };
    const isThereAtStart = this.#isFirst && newestRun(pod, container) !== undefined;
    return new ContainerLog(parts, isThereAtStart ? this.#options.beginning : {});
  }

  #read(followed: Followed): void {
    followed.isRead = true;
    this.#streams
      .use(() => followed.log.read())
      .catch((error: unknown) => this.fail(error))
      .finally(() => {
        followed.isRead = false;
        this.#endWhenRead();
      });
  }

  #endWhenRead(): void {
    if (this.#isLast && [...this.#followed.values()].every(({ isRead }) => !isRead)) this.#stop.abort();
  }
}
