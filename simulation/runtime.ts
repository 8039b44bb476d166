/** What an agent asks the container runtime of its simulated node, and what one that is well answers. */
import { status } from "@grpc/grpc-js";
import type { CallFailure } from "../agent/index.ts";
import type { Clock, Random } from "../kube/index.ts";
import { ContainerState, decode, encode, methods } from "../proto/cri/index.ts";
import type { NodeRuntime } from "../sandbox/index.ts";

export interface Asked {
  readonly method: string;
  readonly request: Uint8Array;
  readonly runtime: NodeRuntime;
  /** Of the agent: what it has asked for ends with it. */
  readonly clock: Clock;
  readonly random: Random;
  /** The agent gave up. */
  readonly signal: AbortSignal;
  /** A container was asked to stop. */
  readonly stops: () => void;
  readonly pulls: (reference: string) => void;
  /** Resolves when the pull may end. */
  readonly pullMayEnd: () => Promise<void>;
}

/** As the sandbox names its runtime in the IDs of containers. */
export const runtimeName = "sandbox";

const lookEveryMs = 20;
/** As the nodes of the sandbox pull (`sandbox/stages/profile.ts`, real). */
const shortestPullMs = 400;
const longestPullMs = 600;

const uidLabel = "io.kubernetes.pod.uid";
const nameLabel = "io.kubernetes.container.name";
const states = {
  created: ContainerState.CONTAINER_CREATED,
  running: ContainerState.CONTAINER_RUNNING,
  exited: ContainerState.CONTAINER_EXITED,
  unknown: ContainerState.CONTAINER_UNKNOWN,
};

/** In place of an answer. */
export class Refusal extends Error implements CallFailure {
  readonly code: status;
  readonly details: string;

  constructor(code: status, details: string) {
    super(details);
    this.code = code;
    this.details = details;
  }
}

/** Throws Refusal. What is asked for has begun when this returns. */
export async function answerOf(asked: Asked): Promise<Uint8Array> {
  const { method, request, runtime, clock, random, signal } = asked;
  switch (method) {
    case "Version": {
      const version = { runtime_name: runtimeName, runtime_version: "1", runtime_api_version: "v1" };
      return encode(methods.Version.response, version);
    }
    case "ImageFsInfo":
      return encode(methods.ImageFsInfo.response, {});
    case "ListContainers": {
      const { filter } = decode(methods.ListContainers.request, request);
      const containers = all(runtime)
        .filter(({ podUid }) => podUid === filter?.label_selector[uidLabel])
        .map(({ podUid, name, id, restartCount, state, startedAt, hash }) => ({
          id,
          metadata: { name, attempt: restartCount },
          state: states[state],
          created_at: startedAt * 1e6,
          labels: { [uidLabel]: podUid, [nameLabel]: name },
          annotations: {
            "io.kubernetes.container.hash": hash,
            "io.kubernetes.container.restartCount": String(restartCount),
          },
        }));
      return encode(methods.ListContainers.response, { containers });
    }
    case "ContainerStatus": {
      const { container_id: id } = decode(methods.ContainerStatus.request, request);
      const found = all(runtime).find((container) => container.id === id);
      if (found === undefined) throw new Refusal(status.NOT_FOUND, `there is no container ${id}`);
      const { state, startedAt, exitCode } = found;
      const told = { id, state: states[state], started_at: startedAt * 1e6, exit_code: exitCode };
      return encode(methods.ContainerStatus.response, { status: told });
    }
    case "StopContainer": {
      const { container_id: id, timeout } = decode(methods.StopContainer.request, request);
      const running = () => all(runtime).find((each) => each.id === id && each.state === "running");
      const container = running();
      if (container !== undefined) {
        runtime.stop(container.podUid, container, timeout);
        asked.stops();
      }
      while (running() !== undefined) await clock.sleep(lookEveryMs, signal);
      return encode(methods.StopContainer.response, {});
    }
    case "ImageStatus": {
      const reference = decode(methods.ImageStatus.request, request).image?.image ?? "";
      const image = runtime.hasImage(reference) ? { id: runtime.imageId(reference) } : undefined;
      return encode(methods.ImageStatus.response, { image });
    }
    case "PullImage": {
      const reference = pulledBy(request);
      asked.pulls(reference);
      await clock.sleep(shortestPullMs + random() * (longestPullMs - shortestPullMs), signal);
      await asked.pullMayEnd();
      if (signal.aborted || !runtime.pull(reference))
        throw new Refusal(status.UNKNOWN, `failed to resolve reference "${reference}"`);
      return encode(methods.PullImage.response, {});
    }
    default:
      throw new Refusal(status.UNIMPLEMENTED, `nothing answers ${method}`);
  }
}

/** The image that a request to pull names. */
export function pulledBy(request: Uint8Array): string {
  return decode(methods.PullImage.request, request).image?.image ?? "";
}

function all(runtime: NodeRuntime) {
  return [...runtime.pods].flatMap((podUid) =>
    runtime.containers(podUid).map((container) => ({ ...container, podUid })),
  );
}
