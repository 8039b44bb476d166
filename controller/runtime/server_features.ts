/** What the API server can do, found out once at start. */
import { type ReadingClient, serverVersion } from "../../kube/index.ts";
import { imagePullJobResource } from "../plan/resources.ts";
import type { SharedInformers } from "./informers.ts";
import type { ServerFeatures } from "./kind.ts";

export async function serverFeatures(
  client: ReadingClient,
  informers: Pick<SharedInformers, "serves">,
): Promise<ServerFeatures> {
  const version = await serverVersion(client);
  return {
    resizeSubresource: version.major > 1 || version.minor >= 32,
    imagePullJobs: await informers.serves(imagePullJobResource),
  };
}
