/** Connects the puller with the API server: its NodeImage, secrets, events, and its memory on disk. */
import type { NodeImage, NodeImageStatus } from "../../crds/index.ts";
import {
  Cache,
  createMergePatch,
  isJsonObject,
  jsonEqual,
  jsonResource,
  type Log,
  startInformer,
} from "../../kube/index.ts";
import { checkedSpec, type PullTask } from "../../node/index.ts";
import type { AgentContext, Feature } from "../context.ts";
import { StatusWriter } from "../status_writer.ts";
import { CriImages } from "./image_service.ts";
import type { Keyring } from "./keyring.ts";
import { Puller } from "./puller.ts";

export const nodeImages = jsonResource<NodeImage>({
  group: "apps.kruise.io",
  version: "v1beta1",
  plural: "nodeimages",
  kind: "NodeImage",
  namespaced: false,
});

/** Source of the events and the log. */
export const component = "kruise-daemon-imagepuller";

export type ImagesContext = Omit<AgentContext, "pods" | "probes" | "restarter">;

export async function startImages(
  context: ImagesContext,
  keyring: Pick<Keyring, "logins">,
): Promise<Feature> {
  const { finder, settings, state } = context;
  const log = context.log.with({ component });
  const name = settings.nodeName;
  const known = savedTasks(await state.read("images"), name);
  const status = new StatusWriter<NodeImageStatus>({
    clock: context.clock,
    log,
    write: (next, before, signal) => writeStatus(context, next, before, signal),
  });
  const puller = new Puller(
    {
      ...context,
      log,
      images: new CriImages(finder),
      keyring,
      recorder: context.events.from(component),
      status,
      finished: (tasks) => state.write("images", { node: name, tasks }),
    },
    known,
  );
  const stopWatching = finder.subscribe(() => puller.runtimeChanged());
  const cache = new Cache<NodeImage>({ identify: nodeImages.codec.identify, tombstones: 16 });
  cache.subscribe((change) => {
    const nodeImage = change.type === "removed" ? undefined : readable(change.object, log);
    if (change.type !== "changed" || !jsonEqual(change.before.spec, change.object.spec))
      rememberSpec(context, nodeImage);
    puller.update(nodeImage);
  });
  const fieldSelector = `metadata.name=${name}`;
  const informer = startInformer({ ...context, log, resource: nodeImages, cache, fieldSelector });
  const stopWaiting = await goOnWithoutServer(context, puller, informer.synced);
  const listed = (): void => {
    if (cache.size > 0) return;
    // It went while this process did not look: nothing is wanted any more.
    rememberSpec(context, undefined);
    puller.update(undefined);
  };
  informer.synced.then(listed, () => undefined);
  return {
    name: "nodeImageInformerSynced",
    synced: informer.synced,
    async stop() {
      stopWatching();
      stopWaiting();
      await Promise.all([informer.stop(), puller.stop()]);
    },
  };
}

/** A merge patch of what differs from the server's status, so that another writer's members stay. */
async function writeStatus(
  context: Pick<AgentContext, "client" | "settings">,
  next: NodeImageStatus,
  before: NodeImageStatus | undefined,
  signal: AbortSignal,
): Promise<NodeImageStatus> {
  const body = { status: createMergePatch(before ?? {}, next) };
  const written = await context.client.patch(
    nodeImages,
    { name: context.settings.nodeName },
    { type: "merge", body },
    {
      subresource: "status",
      signal,
    },
  );
  return written.status ?? { desired: 0 };
}

function readable(nodeImage: NodeImage, log: Log): NodeImage {
  const { spec, ignored } = checkedSpec(nodeImage.spec);
  if (ignored.length > 0) log.warn("parts of the NodeImage cannot be read and are left out", { ignored });
  return { ...nodeImage, spec };
}

function rememberSpec(context: Pick<AgentContext, "state">, nodeImage: NodeImage | undefined): void {
  context.state.write("node_image", nodeImage ? { name: nodeImage.metadata.name, spec: nodeImage.spec } : {});
}

/** A start without uplink goes on with what was wanted last; the first list replaces it. Returns how to give that up. */
async function goOnWithoutServer(
  context: ImagesContext,
  puller: Puller,
  synced: Promise<void>,
): Promise<() => void> {
  const saved = await context.state.read("node_image");
  if (!isJsonObject(saved) || saved["name"] !== context.settings.nodeName) return () => undefined;
  const { spec } = checkedSpec(saved["spec"]);
  const timer = context.clock.after(uplinkWaitMs, () => {
    context.log.warn("the API server does not answer, images are pulled as wanted last");
    puller.update({ metadata: { name: context.settings.nodeName }, spec });
  });
  const giveUp = (): void => timer.cancel();
  synced.then(giveUp, () => undefined);
  return giveUp;
}
const uplinkWaitMs = 10_000;

function savedTasks(saved: unknown, node: string): PullTask[] {
  if (!isJsonObject(saved) || saved["node"] !== node || !Array.isArray(saved["tasks"])) return [];
  return saved["tasks"].filter(isPullTask);
}

function isPullTask(value: unknown): value is PullTask {
  return (
    isJsonObject(value) &&
    typeof value["image"] === "string" &&
    typeof value["tag"] === "string" &&
    typeof value["version"] === "number" &&
    (value["createdAt"] === undefined || typeof value["createdAt"] === "string") &&
    typeof value["imageID"] === "string" &&
    typeof value["message"] === "string" &&
    typeof value["sequence"] === "number" &&
    typeof value["completedAt"] === "number" &&
    (value["phase"] === "Succeeded" || value["phase"] === "Failed")
  );
}
