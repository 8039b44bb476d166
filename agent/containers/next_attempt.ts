/**
 * The agent's own way to start a container again: the next attempt, made as the kubelet made the last one, so that
 * the kubelet takes it for its own. The runtime's name reservation decides when both reach for the same attempt.
 */
import { isJsonObject, plainHash, quantityEqual } from "../../kube/index.ts";
import { type AgentContainer, type AgentPod, metadataEnvValue } from "../../node/index.ts";
import {
  ContainerConfig,
  type ContainerStatus,
  type CreateContainerRequest,
  fromJson,
  type Image,
  type Input,
  type KeyValue,
  methods,
  PodSandboxConfig,
  PodSandboxState,
} from "../../proto/cri/index.ts";
import type { CriClient } from "../cri/client.ts";
import { isAgentError, messageOf } from "../errors.ts";
import { imageRefusal, type KubeletVersion } from "./image_access.ts";
import { annotations, type CriContainer } from "./observe.ts";

/** Everything for the next attempt, prepared while the old container still runs. */
export interface NextAttempt {
  readonly podUid: string;
  readonly containerName: string;
  readonly request: Input<CreateContainerRequest>;
  /** A container that is never started and only holds the name of the attempt after the next one. */
  readonly placeholder: Input<CreateContainerRequest>;
}

/** Why only the kubelet can start the container; its text goes to the log. */
export interface Refusal {
  readonly refusal: string;
}

/** The variable that holds a container back until its launch priority is reached; it never changes afterwards. */
const barrier = "KRUISE_CONTAINER_BARRIER";

/**
 * What the agent would do differently from the kubelet, and therefore leaves to it: things that the kubelet prepares
 * again at each start. `hash` is the one that the last container carries, `lastImages` are the spec's images of which
 * it may be. Pure.
 */
export function refusalOf(
  pod: AgentPod,
  container: AgentContainer | undefined,
  hash: string,
  lastImages: readonly string[],
): string | undefined {
  if (!container) return "the pod's spec does not have the container";
  if (pod.deleting) return "the pod is being deleted";
  if (pod.restartPolicy !== "Always") return `the pod's restartPolicy is ${pod.restartPolicy}`;
  if (!lastImages.some((image) => hash === plainHash(container.name, image).toString(16))) {
    return "the container's hash is not the one of its spec: an update is under way, or the kubelet is older than 1.31";
  }
  if (container.imagePullPolicy === "Always")
    return "imagePullPolicy is Always: the kubelet asks the registry first";
  if (container.hasPostStart) return "the kubelet runs the postStart hook";
  if (container.hasSubPath) return "the kubelet prepares volumeMounts with subPath";
  if (container.hasEnvFrom) return "envFrom is read by the kubelet";
  const external = container.env.find((env) => env.external && env.name !== barrier);
  if (external) return `env ${external.name} is read from a ConfigMap or Secret by the kubelet`;
  if (isBeingResized(pod, container)) return "a resize is under way";
  return undefined;
}

/**
 * The last container's config has the amounts of before then. The kubelet takes the new ones for applied as soon as it has
 * tried to start the container, even if the agent's was first: nothing would bring them to that one any more.
 */
function isBeingResized(pod: AgentPod, { name, resources }: AgentContainer): boolean {
  const actual = pod.containerStatuses.find((status) => status.name === name)?.resources ?? {};
  return Object.entries(actual).some(([key, amount]) => {
    const wanted = resources[key];
    return wanted !== undefined && !quantityEqual(wanted, amount);
  });
}

/**
 * Asks the runtime for the last container's config and makes the next attempt of it. `lastImages`: the spec's images
 * that the last container may be of, when the spec has another one now. Throws AgentError.
 */
export async function prepareNextAttempt(
  client: CriClient,
  pod: AgentPod,
  last: CriContainer,
  signal: AbortSignal | undefined,
  kubeletVersion: KubeletVersion,
  lastImages: readonly string[] = [],
): Promise<NextAttempt | Refusal> {
  const container = pod.containers.find((one) => one.name === last.name);
  const refusal = refusalOf(
    pod,
    container,
    last.hash,
    lastImages.length > 0 ? lastImages : [container?.image ?? ""],
  );
  if (refusal !== undefined || !container) return { refusal: refusal ?? "" };
  const [ofContainer, ofSandbox, ofImage] = await Promise.all([
    client.call(methods.ContainerStatus, { container_id: last.id, verbose: true }, { signal }),
    client.call(methods.PodSandboxStatus, { pod_sandbox_id: last.sandboxId, verbose: true }, { signal }),
    client.call(methods.ImageStatus, { image: { image: container.image } }, { signal }),
  ]);
  if (ofSandbox.status?.state !== PodSandboxState.SANDBOX_READY)
    return { refusal: "the pod's sandbox is not ready" };
  const imageId = ofImage.image?.id;
  if (!imageId) return { refusal: `the image ${container.image} is not on the node` };
  const denied = await imageRefusal(client, pod, imageId, kubeletVersion, signal);
  if (denied !== undefined) return { refusal: denied };
  const status = ofContainer.status;
  if (!status) return { refusal: "the runtime does not report the container's status" };
  if (lastImages.length > 0) {
    const before = await client.call(methods.ImageStatus, { image: { image: status.image_ref } }, { signal });
    // Without a user in the spec the kubelet takes the image's.
    if (!before.image || userOf(before.image) !== userOf(ofImage.image)) {
      return { refusal: "the images run as different users" };
    }
  }
  const made = requestOfNext(
    ofContainer.info["info"],
    status,
    ofSandbox.info["info"],
    last,
    container,
    imageId,
    pod,
  );
  if ("refusal" in made) return made;
  const placeholder = placeholderFor(made, last, imageId);
  return { podUid: pod.uid, containerName: last.name, request: made, placeholder };
}

/** Pure. `containerInfo` and `sandboxInfo` are the runtime's verbose texts. */
export function requestOfNext(
  containerInfo: string | undefined,
  status: ContainerStatus,
  sandboxInfo: string | undefined,
  last: CriContainer,
  container: AgentContainer,
  imageId: string,
  pod: AgentPod,
): Input<CreateContainerRequest> | Refusal {
  const containerJson = configOf(containerInfo);
  const sandboxJson = configOf(sandboxInfo);
  if (!containerJson || !sandboxJson)
    return { refusal: "the runtime does not report the config of its containers" };
  const bytes = envEncoding(containerJson["envs"]);
  if (!bytes) return { refusal: "how the runtime prints env values is not clear: as text or as base64" };
  let config: ContainerConfig;
  let sandbox: PodSandboxConfig;
  try {
    config = fromJson(ContainerConfig, containerJson, { bytes });
    sandbox = fromJson(PodSandboxConfig, sandboxJson, { bytes });
  } catch (error) {
    return { refusal: `the runtime's config has parts that are not known here: ${messageOf(error)}` };
  }
  const attempt = last.attempt + 1;
  return {
    pod_sandbox_id: last.sandboxId,
    sandbox_config: sandbox,
    config: {
      ...config,
      envs: withMetadata(config.envs, container, pod),
      metadata: { name: last.name, attempt },
      image: { ...config.image, image: imageId, user_specified_image: container.image },
      annotations: {
        ...config.annotations,
        [annotations.hash]: plainHash(container.name, container.image).toString(16),
        [annotations.restartCount]: String(attempt),
      },
      log_path: `${last.name}/${attempt}.log`,
      linux: { ...config.linux, resources: { ...config.linux?.resources, ...resized(status) } },
    },
  };
}

function userOf(image: Image | undefined): string {
  return JSON.stringify([image?.uid?.value, image?.username]);
}

/** Marks placeholders, so that those of a crashed agent are found. */
export const placeholderLabels = { "agent.refit/placeholder": "true" } as const;

/**
 * The kubelet takes a container that is created but not yet running for one to start, and makes the attempt after it:
 * if it looks while the agent's StartContainer runs, two would run. The runtime's name reservation prevents that when
 * the name of that attempt is taken. The placeholder has none of the kubelet's labels, so the kubelet does not see it
 * in the pod; it lives in the pod's sandbox and ends with it.
 */
function placeholderFor(
  next: Input<CreateContainerRequest>,
  last: CriContainer,
  imageId: string,
): Input<CreateContainerRequest> {
  return {
    pod_sandbox_id: last.sandboxId,
    sandbox_config: next.sandbox_config,
    config: {
      metadata: { name: last.name, attempt: last.attempt + 2 },
      image: { image: imageId },
      command: ["/agent.refit/never-started"],
      labels: placeholderLabels,
    },
  };
}

/** Variables that refer to labels or annotations get the pod's present ones, as at any start by the kubelet. */
function withMetadata(envs: readonly KeyValue[], container: AgentContainer, pod: AgentPod): KeyValue[] {
  const present = new Map<string, string>();
  for (const env of container.env) {
    const value = metadataEnvValue(env, pod);
    if (value !== undefined) present.set(env.name, value);
  }
  return envs.map((env) => {
    const value = present.get(env.key);
    return value === undefined ? env : { key: env.key, value: Buffer.from(value) };
  });
}

/** What an in-place resize changed since the config was made. */
function resized(status: ContainerStatus): Record<string, number> {
  const now = status.resources?.linux;
  if (!now) return {};
  const { cpu_period, cpu_quota, cpu_shares, memory_limit_in_bytes, memory_swap_limit_in_bytes } = now;
  const amounts = { cpu_period, cpu_quota, cpu_shares, memory_limit_in_bytes, memory_swap_limit_in_bytes };
  return Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount !== 0));
}

/** The config in a runtime's verbose text; undefined where it reports none. */
export function configOf(info: string | undefined): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(info ?? "null");
    const config = isJsonObject(parsed) ? parsed["config"] : undefined;
    return isJsonObject(config) ? config : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Env values are `bytes` in the newest definition and `string` before: JSON shows them as base64 or as text. The
 * kubelet's own variables (`KUBERNETES_PORT=tcp://…`) show which; so does any value that is no base64.
 */
export function envEncoding(envs: unknown): "text" | "base64" | undefined {
  const values = Array.isArray(envs) ? envs.filter(isJsonObject) : [];
  const texts = values.flatMap((env) =>
    typeof env["value"] === "string" && env["value"] !== "" ? [env["value"]] : [],
  );
  if (
    texts.length === 0 ||
    texts.some((text) => !/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4 !== 0)
  )
    return "text";
  const port = values.find((env) => env["key"] === "KUBERNETES_PORT")?.["value"];
  if (typeof port !== "string") return undefined;
  return Buffer.from(port, "base64").toString().includes("://") ? "base64" : undefined;
}

export type Started =
  | { readonly by: "agent"; readonly containerId: string }
  /** The kubelet was first: its container is the one that counts. */
  | { readonly by: "kubelet" };

/**
 * Creates and starts the next attempt; call it right after the old container stopped, because a container that is
 * only created is taken by the kubelet for one to start. Throws AgentError when the runtime cannot start it; then
 * nothing is left behind and the kubelet starts the container in its own time.
 */
export async function startNextAttempt(client: CriClient, next: NextAttempt): Promise<Started> {
  let containerId: string;
  try {
    containerId = (await client.call(methods.CreateContainer, next.request)).container_id;
  } catch (error) {
    if (isAgentError(error, "AlreadyExists")) return { by: "kubelet" };
    throw error;
  }
  try {
    await client.call(methods.StartContainer, { container_id: containerId });
  } catch (error) {
    await client.call(methods.RemoveContainer, { container_id: containerId }).catch(() => undefined);
    throw error;
  }
  return { by: "agent", containerId };
}
