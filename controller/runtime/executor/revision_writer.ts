/** Writes ControllerRevisions; answers go into the cache before anything else. No policy lives here. */
import {
  type Cache,
  type ControllerRevision,
  controllerRevisionResource,
  isKubeError,
  type ReadingClient,
  type WriteOptions,
  type Writer,
} from "../../../kube/index.ts";
import type { RevisionAction } from "../../rollout/writes/actions.ts";

interface RevisionWriterDeps {
  readonly client: Pick<ReadingClient, "get">;
  readonly writer: Writer;
  readonly revisions: Cache<ControllerRevision>;
}

export async function writeRevision(
  deps: RevisionWriterDeps,
  namespace: string,
  action: RevisionAction,
  options: WriteOptions,
): Promise<void> {
  const { writer, revisions } = deps;
  switch (action.type) {
    case "create revision":
      revisions.writeBack(await createRevision(deps, namespace, action, options));
      return;
    case "patch revision": {
      const patch = { type: "merge" as const, body: action.body };
      revisions.writeBack(await writer.patch(controllerRevisionResource, action.revision, patch, options));
      return;
    }
    case "delete revision": {
      const { revision } = action;
      const gone = { ...options, uid: revision.uid, resourceVersion: revision.resourceVersion };
      await writer.delete(controllerRevisionResource, revision, gone);
      revisions.remove(`${revision.namespace}/${revision.name}`, revision.uid);
      return;
    }
  }
}

/** The stored bytes of `data` are part of the API: they go out as text, not as a re-ordered object. */
async function createRevision(
  { client, writer }: RevisionWriterDeps,
  namespace: string,
  action: Extract<RevisionAction, { type: "create revision" }>,
  options: WriteOptions,
): Promise<ControllerRevision> {
  const text = JSON.stringify(action.body);
  const body = `${text.slice(0, -1)},"data":${action.data}}`;
  try {
    return await writer.create(controllerRevisionResource, namespace, body, options);
  } catch (error) {
    if (!isKubeError(error, "AlreadyExists") && !(isKubeError(error) && error.ambiguous)) throw error;
    return client.get(controllerRevisionResource, { namespace, name: action.name }, options);
  }
}
