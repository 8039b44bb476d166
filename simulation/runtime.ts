/** What an agent asks the container runtime of its simulated node, without a socket. */
import { AgentError, type CriClient } from "../agent/index.ts";
import type { Clock, Random } from "../kube/index.ts";
import { ContainerState, decode, encode, methods } from "../proto/cri/index.ts";
import type { NodeRuntime } from "../sandbox/index.ts";

interface Ends {
  /** Of the agent, which hears nothing once it is dead. */
  readonly clock: Clock;
  readonly random: Random;
  readonly runtime: NodeRuntime;
  /** A container was asked to stop. */
  readonly stops: () => void;
  readonly pulls: (type: "pulling" | "pulled", reference: string) => void;
}

const slowestMs = 4;
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

export function inProcessRuntime(ends: Ends): CriClient {
  return {
    socket: "",
    close: () => undefined,
    async call(method, request, options = {}) {
      await ends.clock.sleep(ends.random() * slowestMs, options.signal);
      const bytes = await answerOf(ends, method.name, encode(method.request, request), options.signal);
      return decode(method.response, bytes);
    },
  };
}

async function answerOf(
  { clock, random, runtime, pulls, stops }: Ends,
  method: string,
  request: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  switch (method) {
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
      if (found === undefined) throw new AgentError("NotFound", `there is no container ${id}`);
      const { state, startedAt, exitCode } = found;
      const status = { id, state: states[state], started_at: startedAt * 1e6, exit_code: exitCode };
      return encode(methods.ContainerStatus.response, { status });
    }
    case "StopContainer": {
      const { container_id: id, timeout } = decode(methods.StopContainer.request, request);
      const running = () => all(runtime).find((each) => each.id === id && each.state === "running");
      const container = running();
      if (container !== undefined) {
        runtime.stop(container.podUid, container, timeout);
        stops();
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
      const reference = decode(methods.PullImage.request, request).image?.image ?? "";
      pulls("pulling", reference);
      await clock.sleep(shortestPullMs + random() * (longestPullMs - shortestPullMs), signal);
      if (!runtime.pull(reference))
        throw new AgentError("Runtime", `failed to resolve reference "${reference}"`);
      pulls("pulled", reference);
      return encode(methods.PullImage.response, {});
    }
    default:
      throw new AgentError("Unimplemented", `nothing answers ${method}`);
  }
}

function all(runtime: NodeRuntime) {
  return [...runtime.pods].flatMap((podUid) =>
    runtime.containers(podUid).map((container) => ({ ...container, podUid })),
  );
}
